"""What every chart is made with: the look, axes, labels, tables, and files to write it to."""
