"""How Numba compiles a kernel: as a part of the loop that uses it, and not as a function of its own.

For each function Numba runs all of LLVM's passes over it and over everything it calls, and makes machine code
of that, in case somebody calls it from Python. Kernels call kernels, so this happens again at every level,
and kernels are never called from Python: it took a third of the time. A part is no more than prepared for the
loop that takes it in, which is optimised whole.

`pipeline_class` is Numba's documented way to change how it compiles; what a library of code does when it is
finished is not documented. So this is loaded with the versions it was tried with only: with any other one
everything works the same, and compiling takes longer.
"""

from typing import Any

from numba.core import codegen, compiler

#: What kernels need to print, by the names of the variables that point to it.
ENVIRONMENTS: dict[str, Any] = {}


class Part(codegen.JITCodeLibrary):
    """The code of a kernel, which will be part of another library and has no address itself."""

    def finalize(self) -> None:
        """Take in what the kernel calls, and optimise; no machine code is made."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._optimize_final_module()
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """None: it cannot be called from outside."""
        return 0

    @property
    def codegen(self) -> Any:
        """Who is asked to hand the kernel's environment to its machine code, of which there is none."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Keep it for the machine code that the kernel will be in."""
        ENVIRONMENTS[name] = environment


class LightPart(Part):
    """A kernel of one rule: compiled for that rule alone, so what the loop does to it is enough."""

    def _optimize_final_module(self) -> None:
        """Inline, and drop reference counts: both work better on less code."""
        passes, builder = self._codegen._module_pass_manager(
            loop_vectorize=self._codegen._loopvect,
            slp_vectorize=False,
            opt=self._codegen._opt_level,
            cost="cheap",
        )
        passes.run(self._final_module, builder)


class Whole(codegen.JITCodeLibrary):
    """The machine code of a loop, and of all kernels in it."""

    def finalize(self) -> None:
        """Make it, and hand out the environments of its parts."""
        super().finalize()
        machine: Any = self._codegen
        for variable in self._final_module.global_variables:
            if variable.name in ENVIRONMENTS:
                machine.set_env(variable.name, ENVIRONMENTS[variable.name])


class PartCompiler(compiler.Compiler):
    """Numba's compiler, except for where the code goes."""

    library: Any = Part

    def define_pipelines(self) -> Any:
        """The usual ones."""
        self.state.library = self.library(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        # As Numba does for libraries of its own making: only then can they be kept on disk.
        self.state.library.enable_object_caching()
        return super().define_pipelines()


class LightPartCompiler(PartCompiler):
    """The same for light parts."""

    library = LightPart


class WholeCompiler(PartCompiler):
    """The same for what is called from Python."""

    library = Whole
