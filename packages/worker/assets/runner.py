"""Runs the code of one python step.

The worker starts this file with `-S` (no site-packages scan: 5 ms instead of 30). The step arrives as JSON on stdin
and its outcome leaves as JSON on fd 3, so nothing the step prints can be mistaken for a result. User code runs in a
module of its own: no input key can shadow a name that this file uses.
"""
import os
import sys

OUTCOME_FD = 3


def main():
    # Children of the step must not hold the channel open, nor write to it.
    os.set_inheritable(OUTCOME_FD, False)
    import json

    request = json.loads(sys.stdin.buffer.read())
    prepare_imports(request.get("cwd_on_path"))
    filename = "<step %s>" % request["step"]
    scope = user_scope()
    try:
        provide(request, scope)
        text = encode(json, {"ok": True, "value": run(request, scope, filename)})
        exit_code = 0
    except SystemExit as stop:
        exit_code = exit_code_of(stop)
        if exit_code == 0:
            text = encode(json, {"ok": True, "value": scope.get("result")})
        else:
            message = stop.code if isinstance(stop.code, str) else "Python script exited with code %d" % exit_code
            text = json.dumps({"ok": False, "types": ["SystemExit"], "message": message, "exit_code": exit_code})
            if isinstance(stop.code, str):
                print(stop.code, file=sys.stderr)
    except BaseException as error:
        exit_code = 1
        text = json.dumps(describe(error, filename, request["code"]))
    flush()
    with open(OUTCOME_FD, "w", encoding="utf-8", closefd=False) as channel:
        channel.write(text)
    return exit_code


def prepare_imports(cwd_on_path):
    import builtins

    # What `site` would have defined, without its cost.
    builtins.exit = builtins.quit = sys.exit
    sys.path[0:1] = [os.getcwd()] if cwd_on_path else []
    sys.meta_path.append(SiteOnDemand)


class SiteOnDemand:
    """Adds site-packages (and a virtual environment) the first time a module is not in the standard library."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        sys.meta_path.remove(SiteOnDemand)
        import site
        from importlib.util import find_spec

        site.main()
        # A missing submodule is not our business; its package has been found already.
        return find_spec(name) if path is None else None


def user_scope():
    from types import ModuleType

    module = ModuleType("__main__")
    sys.modules["__main__"] = module
    return module.__dict__


def provide(request, scope):
    args = request["args"]
    scope.update(
        args=args,
        input_data=dict(args),
        context=request["context"],
        variables=request["context"],
        execution_id=request["execution_id"],
        step=request["step"],
        command_id=request["command_id"],
        result=None,
    )
    # Importing costs more than running most steps: only what the code can possibly mean.
    for name in ("json", "os", "datetime", "uuid"):
        if name in request["code"]:
            scope[name] = __import__(name)
    import_libs(request["libs"], scope)
    scope.update(args)


def import_libs(libs, scope):
    if not libs:
        return
    from importlib import import_module

    for alias, target in libs.items():
        if isinstance(target, dict):
            source, name = target["from"], target.get("import", alias)
            holder = import_module(source)
            scope[alias] = getattr(holder, name) if hasattr(holder, name) else import_module(source + "." + name)
        else:
            scope[alias] = import_module(target or alias)


def run(request, scope, filename):
    given = scope["result"]
    program, returns = compile_step(request["code"], filename)
    # A script guard (`if __name__ == "__main__"`) must not call main() a second time.
    guarded = "__main__" in program.co_consts and "main" in program.co_names
    scope["__name__"] = "noetl_step" if guarded else "__main__"
    if guarded:
        sys.modules["noetl_step"] = sys.modules["__main__"]
    exec(program, scope)
    if returns:
        returned = scope.pop(RETURNING)()
        if returned is not None:
            return returned
    result = scope.get("result")
    entry = scope.get("main")
    # An input may be called `result`; as long as the step has not replaced it, main() has the say.
    if result is not None and (result is not given or not callable(entry)):
        return result
    if not callable(entry):
        return None
    value = call_main(entry, request["args"], scope)
    if hasattr(value, "__await__"):
        import asyncio

        return asyncio.run(await_value(value))
    return value


RETURNING = "__noetl_returning__"


def compile_step(code, filename):
    try:
        return compile(code, filename, "exec"), False
    except SyntaxError as error:
        if "'return' outside function" not in str(error.msg):
            raise
    import ast

    tree = ast.parse(code, filename)
    names = set()
    tree.body = [TopLevel(names).visit(node) for node in tree.body]
    # The names stay global, so that the step reads and writes its inputs exactly as it would without a `return`.
    body = ([ast.Global(names=sorted(names))] if names else []) + tree.body
    wrapper = ast.parse("def %s(): pass" % RETURNING).body[0]
    wrapper.body = body
    tree.body = [wrapper]
    return compile(ast.fix_missing_locations(tree), filename, "exec"), True


def TopLevel(names):
    """Collects every name that the statements bind in their own scope (not inside functions and classes)."""
    import ast

    class Collector(ast.NodeTransformer):
        def visit_Name(self, node):
            if not isinstance(node.ctx, ast.Load):
                names.add(node.id)
            return node

        def visit_FunctionDef(self, node):
            names.add(node.name)
            return node

        visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef

        def visit_Lambda(self, node):
            return node

        visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_Lambda

        def visit_alias(self, node):
            names.add((node.asname or node.name).split(".")[0])
            return node

        def visit_ExceptHandler(self, node):
            if node.name:
                names.add(node.name)
            return self.generic_visit(node)

        def visit_MatchAs(self, node):
            if node.name:
                names.add(node.name)
            return self.generic_visit(node)

        visit_MatchStar = visit_MatchAs

        def visit_MatchMapping(self, node):
            if node.rest:
                names.add(node.rest)
            return self.generic_visit(node)

        def visit_AnnAssign(self, node):
            # An annotated name cannot be global; the annotation means nothing at run time.
            self.generic_visit(node)
            if node.value is None:
                return ast.copy_location(ast.Pass(), node)
            return ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node)

    return Collector()


def call_main(entry, args, scope):
    code = getattr(entry, "__code__", None)
    if code is None or hasattr(entry, "__wrapped__"):
        return call_by_signature(entry, args, scope)
    named = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    first = 1 if hasattr(entry, "__self__") else 0
    takes_all = bool(code.co_flags & 0x08)
    positional_only = named[first : code.co_posonlyargcount]
    return call_with(entry, positional_only, named[first:], takes_all, args, scope)


def call_by_signature(entry, args, scope):
    from inspect import signature

    parameters = signature(entry).parameters.values()
    positional_only = [p.name for p in parameters if p.kind == p.POSITIONAL_ONLY]
    named = [p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    takes_all = any(p.kind == p.VAR_KEYWORD for p in parameters)
    return call_with(entry, positional_only, named, takes_all, args, scope)


PROVIDED = ("input_data", "args", "context", "variables", "execution_id", "step", "command_id")


def call_with(entry, positional_only, named, takes_all, args, scope):
    bound = dict(args) if takes_all else {}
    for name in named:
        if name in args:
            bound[name] = args[name]
        elif name in PROVIDED:
            bound[name] = scope[name]
    ordered = []
    for name in positional_only:
        if name not in bound:
            break
        ordered.append(bound.pop(name))
    return entry(*ordered, **bound)


async def await_value(value):
    return await value


def encode(json, outcome):
    try:
        return json.dumps(outcome, default=str, allow_nan=False, ensure_ascii=True)
    except (ValueError, TypeError):
        # NaN, infinities and keys that JSON does not know. A cycle ends as the RecursionError of the step.
        return json.dumps(plain(outcome), default=str, ensure_ascii=True)


def plain(value):
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, dict):
        return {key_text(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def key_text(key):
    return key if key is None or isinstance(key, (str, int, bool)) else str(key)


def exit_code_of(stop):
    if stop.code is None:
        return 0
    return stop.code & 0xFF if isinstance(stop.code, int) else 1


def describe(error, filename, code):
    import linecache
    import traceback

    # Show the reader their own code, not the frames of this file.
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != filename:
        trace = trace.tb_next
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == filename else None
    frames = trace
    while frames is not None:
        if frames.tb_frame.f_code.co_filename == filename:
            line = frames.tb_lineno
        frames = frames.tb_next
    linecache.cache[filename] = (len(code), None, code.splitlines(True), filename)
    text = "".join(traceback.format_exception(type(error), error, trace))
    sys.stderr.write(text)
    types = [base.__name__ for base in type(error).__mro__ if base not in (object, BaseException)]
    return {"ok": False, "types": types, "message": str(error), "traceback": text, "line": line, "exit_code": 1}


def flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass


if __name__ == "__main__":
    code = main()
    # Not sys.exit: threads that the step left behind must not keep the command alive.
    flush()
    os._exit(code)
