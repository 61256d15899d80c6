#!/usr/bin/python3
"""Writes the generated part of docs/api.md and docs/openapi.json from the comments of proto/tributary/v1.

usage: [TRIBUTARY_WRITE_DOCS=1] docs/api_reference.py [--protoc FILE]
Without TRIBUTARY_WRITE_DOCS it writes nothing and compares.
Exit status: 0 both are up to date or were written, 1 they are not, 77 the Python package protobuf is missing.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    from google.protobuf import descriptor_pb2
except ImportError:
    print("skipped: the Python package protobuf is missing (python3-protobuf)")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROTO = ROOT / "proto"
FILES = ("certificate", "fleet", "fusion", "run", "site")
BEGIN = "<!-- begin messages -->\n"
END = "<!-- end messages -->\n"

EVENT_PARAMETERS = (
    ("site", {"type": "string"}, "name of the site; not needed if there is only one"),
    ("rate_hz", {"type": "number", "minimum": 0.01, "maximum": 50, "default": 10},
     "at most this many events per second, 0.01 to 50; absent: 10"),
    ("subjects", {"type": "string"}, "only these subjects, at most 64: numbers separated by commas; absent: all"),
    ("contributions", {"type": "integer"},
     "also what the sources say of this subject; 503 beyond 8 such readers of a site"),
    ("truth", {"type": "boolean", "default": False}, "`true`: also where the subjects really are, if the site's `truth` says it"),
)
BURST_PARAMETERS = (
    ("subject", {"type": "integer", "default": 1}, "the emitter; absent: 1"),
    ("receiver", {"type": "integer", "default": 0}, "as `receiver` of the node's source, 0 to 65,535; absent: 0"),
    ("epoch", {"type": "integer"}, "the slot; absent: the latest one"),
)
# Operation, path, message of the answer, parameters (or the message that has them), command that prints the same with
# --json, meaning.
ROUTES = (
    ("listSites", "/api/v1/sites", "ListSitesResponse", "ListSitesRequest", None, "Sites with their counters"),
    ("getSlot", "/api/v1/sites/{site}", "WatchResponse", None, None,
     "The latest fused slot of a site; 204 before the first"),
    ("getRoom", "/api/v1/sites/{site}/room", "Room", None, None,
     "The plan of a site; 404 unless `[site.room]` is set"),
    ("getFlow", "/api/v1/sites/{site}/flow", "SiteFlow", None, None, "Where the frames and tuples of a site went"),
    ("getSubjectsGeoJson", "/api/v1/sites/{site}/subjects.geojson", None, None, None,
     "The latest fused positions on Earth, as GeoJSON; 204 before the first, 404 unless `[site.room.origin]` is set"),
    ("getBurst", "/api/v1/sites/{site}/burst", "SimulatedBurst", BURST_PARAMETERS, None,
     "What a receiver hears of a simulated emitter; 204 before the first slot, 404 unless `truth` is a generator"),
    ("watchSlots", "/api/v1/events", "WatchResponse", EVENT_PARAMETERS, "tributary watch",
     "Server-sent events, each the latest fused slot"),
    ("listNodes", "/api/v1/nodes", "ListNodesResponse", "ListNodesRequest", "tributary status",
     "Nodes that report or learn"),
    ("listRuns", "/api/v1/runs", "ListRunsResponse", "ListRunsRequest", "tributary run list",
     "Runs in the order of their starts; 404 without `[federation]`"),
    ("getRun", "/api/v1/runs/{run}", "GetRunResponse", "GetRunRequest", "tributary run show",
     "A run, its history, its nodes"),
)
ROUTES += (
    ("listModels", "/api/v1/models", "ListModelsResponse", "ListModelsRequest", "tributary model list", "Models of the runs"),
)
ROLLBACK_PARAMETERS = (("run", {"type": "string"}, "required; name of the run"),
                       ("round", {"type": "integer"}, "required; the model after this round"))
CHECK_PARAMETERS = (("check", {"type": "boolean", "default": False}, "`true`: look for faults only"),)
# Method, and the same for what operators may do. The path of a model has its SHA-256 in hexadecimal.
OPERATIONS = (
    ("post", "startRun", "/api/v1/runs", "StartRunResponse", CHECK_PARAMETERS, "tributary run start",
     "Starts the run that the body describes, `application/toml`, with a fresh model; 201"),
    ("post", "pauseRun", "/api/v1/runs/{run}/pause", "PauseRunResponse", None, "tributary run pause",
     "Lets the round under way end and starts no other"),
    ("post", "resumeRun", "/api/v1/runs/{run}/resume", "ResumeRunResponse", None, "tributary run resume", "Goes on"),
    ("post", "stopRun", "/api/v1/runs/{run}/stop", "StopRunResponse", None, "tributary run stop", "Ends the run for good"),
    ("delete", "deleteRun", "/api/v1/runs/{run}", "DeleteRunResponse", None, "tributary run delete",
     "Removes a run that has ended"),
    ("post", "rollBackModel", "/api/v1/models/rollback", "RollBackModelResponse", ROLLBACK_PARAMETERS,
     "tributary model rollback", "Goes on from an earlier model"),
    ("post", "joinBoard", "/api/v1/join", "JoinResponse", None, None,
     "Gives a board a certificate by a token of `tributary token invite`. The body is a [JoinRequest](#joinrequest)"),
)
SESSION = (  # method, operation, meaning, status
    ("get", "getCaller", "Who asks, and what that one may do", "200"),
    ("post", "openSession", "With a bearer token: opens a session, whose cookie speaks for the token", "200"),
    ("delete", "closeSession", "Ends the session of the cookie", "204"),
)
COMMANDS = (  # that print a message which HTTP does not have
    ("tributary run watch", "WatchRunResponse"),
)

Field = descriptor_pb2.FieldDescriptorProto
INT64 = (Field.TYPE_INT64, Field.TYPE_UINT64, Field.TYPE_FIXED64, Field.TYPE_SFIXED64, Field.TYPE_SINT64)
INT32 = (Field.TYPE_INT32, Field.TYPE_UINT32, Field.TYPE_FIXED32, Field.TYPE_SFIXED32, Field.TYPE_SINT32)
# Type in the table, schema.
SCALARS = {
    Field.TYPE_BOOL: ("boolean", {"type": "boolean"}),
    Field.TYPE_STRING: ("string", {"type": "string"}),
    Field.TYPE_BYTES: ("base64", {"type": "string", "format": "byte"}),
    Field.TYPE_FLOAT: ("number", {"type": "number", "format": "float"}),
    Field.TYPE_DOUBLE: ("number", {"type": "number", "format": "double"}),
    **{kind: ("int64", {"type": "string", "pattern": "^-?[0-9]+$"}) for kind in INT64},
    **{kind: ("integer", {"type": "integer"}) for kind in INT32},
}


class Messages:
    """Messages and enums by name, each with its comment and those of its fields."""

    def __init__(self, protoc):
        with tempfile.NamedTemporaryFile() as out:
            subprocess.run([protoc, "-I", PROTO, "--include_source_info", f"--descriptor_set_out={out.name}",
                            *(f"tributary/v1/{name}.proto" for name in FILES)], check=True, cwd=PROTO)
            files = descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(out.name).read_bytes()).file
        # A comment's key is the path of what it describes: 4 is a message, 4 2 its field, 5 an enum, 5 2 its value.
        self.messages, self.enums, self.comments = {}, {}, {}
        for file in files:
            comments = {tuple(each.path): " ".join((each.leading_comments + " " + each.trailing_comments).split())
                        for each in file.source_code_info.location}
            for i, message in enumerate(file.message_type):
                self.messages[message.name] = message
                self.comments[message.name] = comments.get((4, i), "")
                for j, field in enumerate(message.field):
                    self.comments[message.name, field.name] = comments.get((4, i, 2, j), "")
            for i, enum in enumerate(file.enum_type):
                self.enums[enum.name] = enum
                self.comments[enum.name] = comments.get((5, i), "")
                for j, value in enumerate(enum.value):
                    self.comments[enum.name, value.name] = comments.get((5, i, 2, j), "")

    def map_value(self, message, field):
        """The field of the values if this field is a map."""
        for nested in message.nested_type:
            if nested.options.map_entry and field.type_name.endswith(f".{message.name}.{nested.name}"):
                return nested.field[1]
        return None

    def reachable(self, roots):
        """Names of messages and enums in the order in which a reader meets them."""
        names = []
        for root in roots:
            queue = [root]
            while queue:
                name = queue.pop(0)
                if name in names:
                    continue
                names.append(name)
                message = self.messages.get(name)
                for field in message.field if message else ():
                    if field.type_name and not self.map_value(message, field):
                        queue.append(field.type_name.rsplit(".", 1)[1])
        return names


def is_list(field):
    return field.label == Field.LABEL_REPEATED


def table_type(messages, message, field):
    if value := messages.map_value(message, field):
        return f"map of {SCALARS[value.type][0]}"
    name = field.type_name.rsplit(".", 1)[-1]
    kind = f"[{name}](#{name.lower()})" if name else SCALARS[field.type][0]
    return f"array of {kind}" if is_list(field) else kind


def schema_of(messages, message, field):
    comment = messages.comments[message.name, field.name]
    described = {"description": comment} if comment else {}
    if value := messages.map_value(message, field):
        return {"type": "object", "additionalProperties": SCALARS[value.type][1], **described}
    if field.type_name:
        one = reference(field.type_name.rsplit(".", 1)[1])
        described = described if is_list(field) else {}  # beside $ref nothing may stand
    else:
        one = SCALARS[field.type][1]
    return {"type": "array", "items": one, **described} if is_list(field) else {**one, **described}


def always_printed(field):
    return not field.proto3_optional and (is_list(field) or field.type != Field.TYPE_MESSAGE)


def cell(text):
    return text.replace("|", "\\|")


def tables(messages, names):
    text = ""
    for name in names:
        text += f"\n### {name}\n\n"
        if comment := messages.comments[name]:
            text += comment + "\n\n"
        if enum := messages.enums.get(name):
            text += "| value | meaning |\n|---|---|\n"
            for value in enum.value:
                text += f"| `{value.name}` | {cell(messages.comments[name, value.name])} |\n"
            continue
        message = messages.messages[name]
        text += "| key | type | meaning |\n|---|---|---|\n"
        for field in message.field:
            meaning = cell(messages.comments[name, field.name])
            text += f"| `{field.name}` | {table_type(messages, message, field)} | {meaning} |\n"
    return text


def query_parameters(messages, path, source):
    """Name, schema, description."""
    if not isinstance(source, str):
        return list(source or ())
    message = messages.messages[source]
    return [(field.name, SCALARS[field.type][1], messages.comments[source, field.name])
            for field in message.field if "{" + field.name + "}" not in path]


def overview(messages):
    text = "\n| request | answer | command with `--json` |\n|---|---|---|\n"
    link = "[{0}](#{1})"
    for _, path, answer, _, command, meaning in ROUTES:
        said = f"{meaning}: " + (link.format(answer, answer.lower()) if answer else link.format("GeoJSON", "what-a-site-shows"))
        text += f"| `GET {path}` | {said} | {f'`{command}`' if command else ''} |\n"
    for method, _, path, answer, _, command, meaning in OPERATIONS:
        text += f"| `{method.upper()} {path}` | {meaning}: {link.format(answer, answer.lower())} | {f'`{command}`' if command else ''} |\n"
    text += "| `GET /api/v1/ca` | The authority's certificate, PEM; 404 without `[access] authority` | |\n"
    text += "| `GET /api/v1/models/{digest}.safetensors` | The newest model with this SHA-256, in hexadecimal | |\n"
    text += "| `GET /api/v1/models/{digest}.onnx` | The same as ONNX; 400 if it is no encoder | |\n"
    for command, answer in COMMANDS:
        text += f"| | {link.format(answer, answer.lower())} | `{command}` |\n"
    for method, _, meaning, _ in SESSION:
        text += f"| `{method.upper()} /api/v1/session` | {meaning}{': [Caller](#caller)' if method != 'delete' else '; 204'} | |\n"
    text += "\n| request | parameter | type | meaning |\n|---|---|---|---|\n"
    for path, source in [(route[1], route[3]) for route in ROUTES] + [(each[2], each[4]) for each in OPERATIONS]:
        for name, schema, meaning in query_parameters(messages, path, source):
            kind = "int64" if "pattern" in schema else schema["type"]
            text += f"| `{path}` | `{name}` | {kind} | {cell(meaning)} |\n"
    return text


def reference(name):
    return {"$ref": f"#/components/schemas/{name}"}


def operation(messages, route):
    name, path, answer, source, _, meaning = route
    parameters = [{"name": key, "in": "query", "required": False, "schema": schema, "description": about}
                  for key, schema, about in query_parameters(messages, path, source)]
    if "{" in path:
        key = path[path.index("{") + 1:-1]
        parameters.insert(0, {"name": key, "in": "path", "required": True, "schema": {"type": "string"}})
    if path.endswith("/events"):
        parameters.append({"name": "Last-Event-ID", "in": "header", "required": False, "schema": {"type": "string"},
                           "description": "`id` of the last event that the reader has: tells what it missed since"})
    media = "text/event-stream" if path.endswith("/events") else "application/json" if answer else "application/geo+json"
    schema_of_answer = reference(answer) if answer else {"type": "object"}
    responses = {"200": {"description": answer or "GeoJSON", "content": {media: {"schema": schema_of_answer}}}}
    if path.endswith(("{site}", ".geojson")):
        responses["204"] = {"description": "the site has fused nothing yet"}
    responses["default"] = {"description": "what is wrong, and what is allowed",
                            "content": {"application/json": {"schema": reference("Error")}}}
    return {"operationId": name, "summary": meaning, "parameters": parameters, "responses": responses}


def session():
    made = {}
    for method, name, meaning, status in SESSION:
        content = {"content": {"application/json": {"schema": reference("Caller")}}} if status == "200" else {}
        made[method] = {"operationId": name, "summary": meaning, "responses": {status: {"description": meaning, **content}}}
    made["post"]["security"] = [{"token": []}]
    return made


def paths(messages):
    found = {route[1]: {"get": operation(messages, route)} for route in ROUTES}
    for method, *route in OPERATIONS:
        made = operation(messages, route)
        if route[0] == "startRun":
            made["requestBody"] = {"required": True, "content": {"application/toml": {"schema": {"type": "string"}}}}
            made["responses"]["201"] = made["responses"]["200"]
        made["security"] = [{"token": []}, {"session": []}]
        if route[0] == "joinBoard":
            made["requestBody"] = {"required": True, "content": {"application/json": {"schema": reference("JoinRequest")}}}
            made["security"] = [{"token": []}]
        found.setdefault(route[1], {})[method] = made
    found["/api/v1/session"] = session()
    return found


def schema(messages, name):
    described = {"description": messages.comments[name]} if messages.comments[name] else {}
    if enum := messages.enums.get(name):
        return {"type": "string", "enum": [value.name for value in enum.value], **described}
    message = messages.messages[name]
    required = [field.name for field in message.field if always_printed(field)]
    return {"type": "object", **described, **({"required": required} if required else {}),
            "properties": {field.name: schema_of(messages, message, field) for field in message.field}}


def openapi(messages, names):
    text = {"type": "string"}
    error = {"type": "object", "required": ["code", "error"], "properties": {"code": text, "error": text}}
    role = {"type": "string", "enum": ["", "viewer", "operator"]}
    caller = {"type": "object", "required": ["name", "way", "role"], "properties": {"name": text, "way": text, "role": role}}
    about = "Written by docs/api_reference.py from proto/tributary/v1. Rules and errors: docs/api.md."
    return {"openapi": "3.0.3",
            "info": {"title": "Tributary aggregator", "version": "v1", "description": about},
            "servers": [{"url": "http://127.0.0.1:7480"}],
            "paths": paths(messages),
            "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"},
                                               "session": {"type": "apiKey", "in": "cookie", "name": "tributary-session"}},
                           "schemas": {"Error": error, "Caller": caller, **{name: schema(messages, name) for name in names}}}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--protoc", default="protoc")
    messages = Messages(parser.parse_args().protoc)
    names = messages.reachable([route[2] for route in ROUTES if route[2]] + [each[3] for each in OPERATIONS] + [command[1] for command in COMMANDS] + ["JoinRequest"])
    page = ROOT / "docs/api.md"
    before, rest = page.read_text().split(BEGIN)
    after = rest.split(END)[1]
    written = {page: before + BEGIN + overview(messages) + tables(messages, names) + "\n" + END + after,
               ROOT / "docs/openapi.json": json.dumps(openapi(messages, names), indent=1, ensure_ascii=False) + "\n"}
    if "TRIBUTARY_WRITE_DOCS" in os.environ:
        for path, text in written.items():
            path.write_text(text)
        return 0
    stale = [path.relative_to(ROOT) for path, text in written.items() if not path.exists() or path.read_text() != text]
    for path in stale:
        print(f"fault: {path} differs from the comments of proto/tributary/v1; "
              "write it with TRIBUTARY_WRITE_DOCS=1 docs/api_reference.py")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
