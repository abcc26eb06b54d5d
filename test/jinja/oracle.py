# Answers what Jinja2 itself makes of a template. One JSON line in, one JSON line out:
#   {"id", "template" | "expression", "context", "dialect": [names]}  ->  {"id", "ok", "value" | "error" | "gaveUp"}
# Without a dialect this is Jinja2 as it comes. A dialect teaches it one documented difference (docs/templates.md), so that a
# difference counts as intended only when Jinja2 plus that one rule gives exactly our value.
#
# Numbers and texts of Python have no bound, so one question can keep it busy for hours or fill the memory of the machine. Each gets a
# few seconds of processor time, which unlike the clock does not depend on what else runs, and a share of memory; then it is given up.
import json
import resource
import signal
import sys

import jinja2
import jinja2.filters
import jinja2.runtime
from dialect import data, environment, ignore_case, nothing_in, printer, sort_key, text_class
from jinja2 import nodes

ENVIRONMENTS = {}
SECONDS = 3
BYTES = 1 << 30
TOO_MUCH = f"more than {SECONDS} s of processor time or {BYTES} bytes"


class GaveUp(BaseException):
    """Not an Exception: Jinja2 swallows those while it folds constants, and would begin anew."""


def give_up(number, frame):
    raise GaveUp


signal.signal(signal.SIGVTALRM, give_up)
resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))


def answer(request):
    dialect = frozenset(request.get("dialect", ()))
    env = ENVIRONMENTS.get(dialect) or ENVIRONMENTS.setdefault(dialect, environment(dialect))
    context = request["context"]
    text = printer(dialect)
    jinja2.runtime.str_join = lambda parts: "".join(map(text, parts))
    jinja2.filters.str = text_class(text) if dialect else str
    jinja2.filters.soft_str = (lambda value: text(value)) if dialect else jinja2.utils.markupsafe.soft_str
    jinja2.filters.ignore_case = sort_key if "nothing" in dialect else ignore_case
    source = request.get("expression", request.get("template"))
    if "nothing" in dialect:
        context = nothing_in(context)
    if "expression" in request:
        value = data(env.compile_expression(source, undefined_to_none=False)(**context))
        return json.loads(value) if "tojson" in dialect and ends_in_tojson(env, source) else value
    return env.from_string(source).render(**context)


def ends_in_tojson(env, source):
    """A lone `{{ x | tojson }}` is the value itself."""
    outermost = env.parse("{{ " + source + " }}").body[0].nodes[0]
    return isinstance(outermost, nodes.Filter) and outermost.name == "tojson"


def reply_to(request):
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        # As text in here: a number of thousands of digits has a value, but no text.
        return json.dumps({"id": request["id"], "ok": True, "value": answer(request)})
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def main():
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = reply_to(request)
        except (GaveUp, MemoryError):
            reply = json.dumps({"id": request["id"], "ok": False, "gaveUp": True, "error": TOO_MUCH})
        except Exception as error:  # whatever a template can provoke is an answer, not a failure of this process
            reply = json.dumps({"id": request["id"], "ok": False, "error": f"{type(error).__name__}: {error}"[:300]})
        sys.stdout.write(reply + "\n")
        sys.stdout.flush()


main()
