# The documented differences of our templates (docs/templates.md) as rules that Jinja2 can be taught one by one, and the
# translation of Python's values into JSON.
import json
import math
import re
import types
from decimal import Decimal

import jinja2
import jinja2.filters
import jinja2.runtime
from jinja2 import nodes
from jinja2.runtime import Context
from jinja2.visitor import NodeTransformer
import markupsafe
from jinja2.filters import ignore_case
from markupsafe import Markup

VIEWS = (type({}.keys()), type({}.values()), type({}.items()), range, types.GeneratorType, map, filter, zip, type(reversed([])))


def data(value):
    """A Python value as JSON data; what JSON cannot say is marked."""
    if isinstance(value, jinja2.Undefined) or value is None:
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return {"__python__": repr(value)}
    if isinstance(value, complex):
        return {"__python__": "complex"}
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, jinja2.runtime.LoopContext):
        return {"__python__": "loop"}
    if isinstance(value, jinja2.utils.Namespace):
        return data(value._Namespace__attrs)
    if isinstance(value, dict):
        return {key_text(key): data(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)) or isinstance(value, VIEWS) or hasattr(value, "__next__"):
        return [data(part) for part in value]
    return {"__python__": type(value).__name__}


def key_text(key):
    if isinstance(key, str):
        return str(key)
    if isinstance(key, (bool, int, float)):
        return number_text(key)
    return repr(key)


def number_text(value):
    """JSON knows one kind of number, so a whole one has no fraction; the exponent is JavaScript's."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    if isinstance(value, float) and 1e-6 <= abs(value) < 1e-4:
        return format(Decimal(repr(value)), "f")
    if isinstance(value, float):
        return re.sub(r"e([+-])0+", r"e\1", repr(value))
    return str(int(value))


class Lenient(jinja2.ChainableUndefined):
    """Undefined and none are one thing, and comparing or looping over it is no error."""

    __slots__ = ()

    def __eq__(self, other):
        return other is None or isinstance(other, jinja2.Undefined)

    def __ne__(self, other):
        return not self.__eq__(other)

    def __hash__(self):
        return hash(None)

    def _no(self, other):
        return False

    __lt__ = __le__ = __gt__ = __ge__ = __contains__ = _no

    def __call__(self, *args, **kwargs):
        return self

    def _not_a_number(self):
        raise TypeError("nothing is not a number")

    __int__ = __float__ = _not_a_number

    def __getitem__(self, key):
        return self


class Rewrite(NodeTransformer):
    """Rules that Python's operators would not let a value decide."""

    def __init__(self, dialect):
        self.dialect = dialect

    def visit_Const(self, node):
        return nodes.Name("nothing__", "load", lineno=node.lineno) if "nothing" in self.dialect and node.value is None else node

    def visit_Compare(self, node):
        node = self.generic_visit(node)
        if "nothing" not in self.dialect or len(node.ops) != 1 or node.ops[0].op not in ("in", "notin"):
            return node
        found = nodes.Test(node.expr, "in", [node.ops[0].expr], [], None, None, lineno=node.lineno)
        return nodes.Not(found, lineno=node.lineno) if node.ops[0].op == "notin" else found

    def visit_Dict(self, node):
        node = self.generic_visit(node)
        if "key-order" in self.dialect:
            position = lambda pair: int(pair.key.value) if is_index(pair.key) else math.inf
            node.items.sort(key=position)
        if "text-keys" in self.dialect:
            for pair in node.items:
                if isinstance(pair.key, nodes.Const) and type(pair.key.value) in (int, float):
                    pair.key = nodes.Const(number_text(pair.key.value), lineno=pair.lineno)
        return node

    def visit_Tuple(self, node):
        node = self.generic_visit(node)
        plain = "tuples" in self.dialect and node.ctx == "load"
        return nodes.List(node.items, lineno=node.lineno) if plain else node

    def visit_Mod(self, node):
        node = self.generic_visit(node)
        if "tuples" in self.dialect and isinstance(node.right, nodes.List):
            node.right = nodes.Tuple(node.right.items, "load", lineno=node.lineno)
        elif "nothing" in self.dialect:
            node.right = nodes.Filter(node.right, "operand__", [], [], None, None, lineno=node.lineno)
        return node


def never_constant(self, eval_ctx=None):
    raise nodes.Impossible


# Jinja2 joins constants while compiling, in Python's way; joined while running, they are printed as the dialect says.
nodes.Concat.as_const = never_constant


def is_index(key):
    return isinstance(key, nodes.Const) and bool(re.fullmatch(r"0|[1-9]\d*", str(key.value)))


class Dialect(jinja2.Environment):
    dialect = frozenset()

    def _generate(self, source, *args, **kwargs):
        rewritten = Rewrite(self.dialect).visit(source) if self.dialect else source
        rewritten.set_environment(self)
        return super()._generate(rewritten, *args, **kwargs)


def nothing_in(value):
    if value is None:
        return Lenient()
    if isinstance(value, dict):
        return {key: nothing_in(part) for key, part in value.items()}
    if isinstance(value, list):
        return [nothing_in(part) for part in value]
    return value


def printer(dialect):
    def text(value="", *_):
        if isinstance(value, (Markup, str)):
            return str.__str__(value)
        if value is None or isinstance(value, jinja2.Undefined):
            return "" if "nothing" in dialect else str(value)
        if isinstance(value, (bool, int)):
            return str(value)
        if isinstance(value, float):
            return number_text(value) if "numbers" in dialect else str(value)
        if isinstance(value, VIEWS) or hasattr(value, "__next__"):
            if "eager" not in dialect:
                return str(value)
            value = list(value)
        if isinstance(value, (list, tuple, dict)):
            return compact(value) if "json-text" in dialect else str(value)
        return str(value)

    return text


def compact(value):
    value = data(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return number_text(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\x7f")
    if isinstance(value, dict):
        return "{" + ",".join(compact(key) + ":" + compact(part) for key, part in value.items()) + "}"
    return "[" + ",".join(compact(part) for part in value) + "]"


def text_class(text):
    """Stands in for `str` inside Jinja2's filters: the same type, another way to print."""

    class Meta(type):
        def __instancecheck__(cls, value):
            return isinstance(value, str)

    class Text(str, metaclass=Meta):
        def __new__(cls, value=""):
            return text(value)

    return Text


def eager(function):
    return then(function, lambda result: list(result) if isinstance(result, VIEWS) or hasattr(result, "__next__") else result)


def then(function, finish):
    """Wrapped in the same kind of pass marker, so Jinja2 still hands in its environment."""

    def call(*args, **kwargs):
        return finish(function(*args, **kwargs))

    call.__dict__.update(getattr(function, "__dict__", {}))
    return call


def pairs_as_lists(value):
    """Pairs that Python itself makes: of `items()`, of `dictsort`."""
    if isinstance(value, (list, type({}.items()))):
        return [list(part) if type(part) is tuple else part for part in value]
    return value


class Settled(Context):
    """Methods answer with lists instead of views and tuples, and with one kind of nothing, where the dialect says so."""

    def call(self, target, *args, **kwargs):
        result = super().call(target, *args, **kwargs)
        dialect = self.environment.dialect
        if "tuples" in dialect:
            result = pairs_as_lists(result)
        if "eager" in dialect and isinstance(result, VIEWS):
            return list(result)
        if "nothing" in dialect and result is None:
            return Lenient()
        return result


def environment(dialect):
    # Constants are not folded in a dialect: folding would print them in Python's way.
    env = Dialect(undefined=Lenient if "nothing" in dialect else jinja2.Undefined, optimized=not dialect)
    env.dialect = dialect
    env.context_class = Settled
    if not dialect:
        return env
    text = printer(dialect)
    env.finalize = lambda value: text(value)
    env.filters["string"] = text
    env.filters["escape"] = lambda value: markupsafe.escape(text(value))
    env.filters["format"] = lambda value, *args: text(value) % tuple(formatted(arg, dialect, text) for arg in args)
    if "safe" in dialect:
        env.filters["safe"] = lambda value: value
        # Plain text: Python's would escape whatever is added to it.
        env.filters["escape"] = env.filters["e"] = lambda value: str(markupsafe.escape(text(value)))
    if "eager" in dialect:
        for name in ("map", "select", "reject", "selectattr", "rejectattr", "unique", "batch", "slice", "reverse", "items"):
            if name in env.filters:
                env.filters[name] = eager(env.filters[name])
    if "tuples" in dialect:
        for name in ("list", "items", "dictsort"):
            if name in env.filters:
                env.filters[name] = then(env.filters[name], pairs_as_lists)
    if "tojson" in dialect:
        env.filters["tojson"] = tojson
    if "numbers" in dialect:
        number = lambda value: isinstance(value, (int, float)) and not isinstance(value, bool)
        env.tests["float"] = lambda value: number(value) and float(value) != int(value)
        env.tests["integer"] = lambda value: number(value) and float(value) == int(value)
    prints = lambda value: "printed" in dialect if not isinstance(value, jinja2.Undefined) else "nothing" in dialect
    env.filters["truncate"] = printed_first(env.filters["truncate"], 1, text, prints)
    env.filters["indent"] = printed_first(env.filters["indent"], 0, text, prints)
    if "case" in dialect:
        env.tests["lower"] = lambda value: isinstance(value, str) and value.islower()
        env.tests["upper"] = lambda value: isinstance(value, str) and value.isupper()
    if "sameas" in dialect:
        env.tests["sameas"] = lambda value, other: value == other
    if "attr" in dialect:
        env.filters["attr"] = lambda value, name: env.getitem(value, name)
    if "booleans" in dialect:
        env.tests["number"] = lambda value: isinstance(value, (int, float)) and not isinstance(value, bool)
    if "sequence" in dialect:
        env.tests["sequence"] = lambda value: isinstance(value, (list, tuple, str))
        env.tests["iterable"] = lambda value: isinstance(value, (list, tuple, str, dict))
    if "nothing" in dialect:
        absent = lambda value: value is None or isinstance(value, jinja2.Undefined)
        env.tests["none"] = env.tests["undefined"] = absent
        env.filters["operand__"] = operand
        env.tests["defined"] = lambda value: not absent(value)
        env.tests["in"] = lambda value, container: not (absent(value) and isinstance(container, str)) and value in container
        for name in ("min", "max"):
            env.filters[name] = without_nothing(env.filters[name])
    return env


def operand(value):
    """Python takes whatever has items for a map of values to format with, so text formatted with nothing would be the text."""
    if value is None or isinstance(value, jinja2.Undefined):
        raise TypeError("nothing cannot be calculated with")
    return value


def formatted(value, dialect, text):
    if isinstance(value, float):
        return int(value) if "numbers" in dialect and value.is_integer() else value
    return value if isinstance(value, (bool, int)) else text(value)


class First:
    """Nothing comes before everything else when things are sorted."""

    def __lt__(self, other):
        return not isinstance(other, First)

    def __gt__(self, other):
        return False

    def __eq__(self, other):
        return isinstance(other, First)

    def __hash__(self):
        return 0


def sort_key(value):
    return First() if value is None or isinstance(value, jinja2.Undefined) else ignore_case(value)


def without_nothing(function):
    def call(env, value, *args, **kwargs):
        return function(env, [part for part in value if not isinstance(part, jinja2.Undefined)], *args, **kwargs)

    call.__dict__.update(getattr(function, "__dict__", {}))
    return call


def printed_first(function, position, text, prints):
    """The subject of the filter as text, when it is of a kind that the rule prints."""

    def call(*args, **kwargs):
        subject = args[position]
        printed = text(subject) if prints(subject) else subject
        return function(*args[:position], printed, *args[position + 1 :], **kwargs)

    call.__dict__.update(getattr(function, "__dict__", {}))
    return call


def tojson(value, indent=None):
    if indent is None:
        return compact(value)
    return json.dumps(data(value), indent=indent, ensure_ascii=False)
