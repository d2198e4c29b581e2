"""What is computed for each section: functions of plain arguments that return plain numbers."""
