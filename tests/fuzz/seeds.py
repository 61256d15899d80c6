#!/usr/bin/env python3
"""Writes the inputs that fuzzing starts from: for each target, bombs of size, depth and count, at most 1 MiB each.

usage: seeds.py FOLDER      writes FOLDER/whole/TARGET/NAME, and its beginning as FOLDER/small/TARGET/NAME
"""

import base64
import itertools
import json
import pathlib
import struct
import sys
import zlib

from seed_bytes import GROUPS, LONG, MAX_BYTES, bytes_of_any_kind, field, fill, gather, many, numbered
from seed_images import idx, pictures
from seed_messages import answers, answers_of_trainers, frames, graphs, onnx_files, serial_lines, tasks, updates
from seed_programs import tensor_programs

SMALL_BYTES = 1 << 10  # a whole program of the tensor unit with weights
ROOT = pathlib.Path(__file__).resolve().parents[2]


def toml():
    return {
        "size_text": fill(b"x", b'name = "', b'"\n'),
        "size_escapes": fill(b"\\u00e4", b'name = "', b'"\n'),
        "size_number": fill(b"1", b"learning_rate = 0."),
        "size_comment": fill(b"#"),
        "size_line_ends": fill(b"\r\n"),
        "depth_arrays": fill(b"[", b"d = "),
        "depth_tables": fill(b"{a=", b"d = "),
        "depth_key": fill(b"a.", b"", b"a = 1\n"),
        "count_keys": gather(numbered(b"k%d = 1\n")),
        "count_tables": gather(numbered(b"[t%d]\n")),
        "count_list": fill(b"[[g]]\n"),
        "count_wrong_elements": fill(b'"",', b"d = [", b"]\n"),
        "count_wrong_numbers": fill(b"0,", b"d = [", b"]\n"),
        "count_wrong_channels": fill(b'"",', b"[encoder]\nchannels = [", b"]\n"),
        "count_zero_channels": fill(b"0,", b"[encoder]\nchannels = [", b"]\n"),
    }


# safetensors

def safetensors(header, data=b""):
    return struct.pack("<Q", len(header)) + header + data


def header(unit, head=b"", tail=b""):
    return safetensors(fill(unit, head, tail, MAX_BYTES - 8))


def model_files():
    values = MAX_BYTES - 200
    return {
        "size_length": struct.pack("<Q", 1 << 63) + b"{}",
        "size_name": header(b"x", b'{"', b'":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}'),
        "size_escapes": header(b"\\u0000", b'{"', b'":0}'),
        "size_shape": header(b"1,", b'{"a":{"dtype":"F32","shape":[', b'0],"data_offsets":[0,0]}}'),
        "size_values": safetensors(b'{"a":{"dtype":"F32","shape":[%d],"data_offsets":[0,%d]}}' % (values // 4, values), bytes(values)),
        "depth_arrays": header(b"["),
        "depth_objects": header(b'{"a":'),
        "count_tensors": safetensors(gather(numbered(b'"%d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}'),
                                            b"{", b"}", b",", MAX_BYTES - 8)),
        "count_tensors_of_one": many_tensors(),
        "count_metadata": safetensors(gather(numbered(b'"%d":""'), b'{"__metadata__":{', b"}}", b",", MAX_BYTES - 8)),
    }


def many_tensors():
    count = 14_000
    names = (b'"%d":{"dtype":"F32","shape":[],"data_offsets":[%d,%d]}' % (i, 4 * i, 4 * i + 4) for i in range(count))
    return safetensors(b"{" + b",".join(names) + b"}", bytes(4 * count))


def npy_file(text, data=b""):
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", len(text)) + text + data


def npy():
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': ("
    return {
        "size_length": b"\x93NUMPY\x02\x00\xff\xff\xff\xff{",
        "size_header": npy_file(fill(b" ", b"{", b"}", MAX_BYTES - 12)),
        "size_key": npy_file(fill(b"x", b"{'", b"': 1}", MAX_BYTES - 12)),
        "size_values": npy_file(head + b"130000,)}", b"\xff" * 1_040_000),
        "count_dimensions": npy_file(fill(b"1,", head, b")}", MAX_BYTES - 12)),
        "count_of_nothing": npy_file(head + b"0, 9223372036854775807, 9223372036854775807)}"),
    }


def datagrams(each):
    """`each` gives epoch, subject, subjects, first feature, number of features and their bytes, by number."""
    def datagram(i):
        epoch, subject, subjects, first, count, payload = each(i)
        content = struct.pack("<4sBBHqqIHHHHf", b"TRBC", 1, 0, 0, epoch, 0, subject, subjects, 8, first, count, 1.0) + payload
        return struct.pack("<H", len(content)) + content
    return gather(map(datagram, itertools.count()))


def udp():
    return {
        "size_payload": datagrams(lambda i: (5000, i, 4, 0, 8, bytes(65_000))),
        "count_fragments": datagrams(lambda i: (5000, i // 8 % 4, 4, i % 8, 1, bytes(4))),
        "count_subjects": datagrams(lambda i: (5000, i, 4, 0, 1, bytes(4))),
        "count_open_slots": datagrams(lambda i: (5000 + i % 5, 1, 4, 0, 8, bytes(32))),
        "count_slots": datagrams(lambda i: (5000 + i, 1, 1, 0, 8, bytes(32))),
        "count_late": datagrams(lambda i: (2**63 - 1 - i, 1, 1, 0, 1, b"")),
    }


def xclbin(sections):
    """Sections that lie over each other: each is a table of compute units as long as the file."""
    begin = 456 + 40 * sections
    units = (MAX_BYTES - begin - 8) // 80
    end = begin + 8 + 80 * units
    head = bytearray(456)
    head[:8] = b"xclbin2\0"
    head[304:312] = struct.pack("<Q", end)
    head[448:452] = struct.pack("<I", sections)
    section = struct.pack("<I16s4xQQ", 8, b"", begin, end - begin)
    unit = struct.pack("<II8x64s", 1, 0, b"unit:unit_1")
    return bytes(head) + section * sections + struct.pack("<I4x", units) + unit * units


def access_tokens():
    token = b'[[token]]\nid = "%08x"\nname = "n%d"\nrole = "viewer"\nsha256 = "' + b"0" * 64 + b'"\n'
    return {"tokens": token % (1, 1) + token % (2, 2), "count_tokens": gather(token % (i, i) for i in itertools.count())}


def calibrations():
    """Bodies without their checksum: the target adds it."""
    def body(count, number=b"0.0"):
        unknowns = 3 * count
        head = b'format = 1\nsite = "a"\nshift_m = 0.02\nturn_deg = 2.0\nlooked_unix_ns = 1\nlooks = 1\nnext_row = 1\n'
        sums = b"normal = [%s]\nrhs = [%s]\n" % (b",".join([number] * (unknowns * (unknowns + 1) // 2)), b",".join([number] * unknowns))
        keys = (b"place_m", b"shift_m", b"shift_deviation_m")
        source = b'[[source]]\nname = "p%d"\n' + b"".join(b"%s = [0.0, 0.0]\n" % key for key in keys)
        source += b"turn_rad = 0.0\nturn_deviation_rad = 0.0\nscale = 1.0\nagreed_scale = 1.0\n"
        source += b"squares = 1.0\nredundancy = 1.0\nexpected = 1.0\nobservations = 1.0\nsolved_observations = 1.0\n"
        return head + sums + b"".join(source % i for i in range(count))
    return {"one": body(1), "two": body(2), "four": body(4), "sixteen": body(16), "size_numbers": body(16, b"-1" + b"0" * 99 + b".5"),
            "not_a_number": body(2, b"nan"), "count_sources": gather(itertools.repeat(b"[[source]]\n"), b"format = 1\n")}


def http_requests():
    page = b"GET /metrics HTTP/1.1\r\nHost: a\r\n"
    return {
        "page": b"GET /api/v1/runs/letters?rounds=1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "events": b"GET /api/v1/events HTTP/1.1\r\nHost: a\r\n\r\n",
        "head": b"HEAD /metrics HTTP/1.0\r\n\r\n",
        "body": b"POST /api/v1/runs/a/pause HTTP/1.1\r\nHost: a\r\nContent-Type: application/toml\r\nContent-Length: 5\r\n\r\nhello",
        "leave": b"POST /api/v1/runs/a/pause HTTP/1.1\r\nHost: a\r\nContent-Type: application/toml\r\nExpect: 100-continue\r\n"
                 b"Content-Length: 2\r\n\r\nok",
        "delete": b"DELETE /api/v1/runs/a HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\n\r\n",
        "other_coding": b"POST /api/v1/runs/a/pause HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n" + page + b"\r\n",
        "size_chunked_body": fill(b"1\r\na\r\n", b"POST /api/v1/runs/a/pause HTTP/1.1\r\nHost: a\r\nContent-Type: application/toml\r\n"
                                  b"Transfer-Encoding: chunked\r\n\r\n"),
        "size_target": fill(b"a", b"GET /", b" HTTP/1.1\r\n\r\n"),
        "size_header": fill(b"a", page + b"X: ", b"\r\n\r\n"),
        "size_body": fill(b"a", page + b"Content-Length: 1000000\r\n\r\n"),
        "size_chunks": fill(b"1\r\na\r\n", page + b"Transfer-Encoding: chunked\r\n\r\n"),
        "count_headers": gather(numbered(b"x%d: a\r\n"), page, b"\r\n"),
        "count_requests": fill(page + b"\r\n"),
    }


def http_targets():
    return {
        "size_path": fill(b"a", b"/"),
        "size_escapes": fill(b"%41", b"/api?a="),
        "count_parameters": gather(numbered(b"k%d=1&"), b"/api?"),
        "count_empty": fill(b"&", b"/api?"),
    }


def json_lines():
    return {
        "size_number": fill(b"1", b"\0"),
        "depth_arrays": fill(b"[", b"\0"),
        "depth_objects": fill(b'{"a":', b"\0"),
        "count_lines": fill(b"{}\n", b"\0"),
        "count_estimates": fill(b'{"mean":[1],"covariance":[[1]]}\n', b"\0"),
        "count_classes": fill(b"-1,", b'\0{"site":"a","epoch":1,"subject":1,"source":"p","log_probabilities":[', b"-1]}"),
        "count_class_names": fill(
            b'"a",', b'\2{"site":"a","epoch":1,"subject":1,"source":"p","log_probabilities":[0,-99],"classes":[', b'"a"]}'
        ),
    }


def recordings():
    return {"size_number": fill(b"1"), "count_lines": fill(b"\n"), "count_fields": fill(b",")}


def sigmf():
    """Metadata, and the data behind a zero byte."""
    head = b'{"global": {"core:version": "1.0.0", "core:datatype": "ci16_le"'
    captures = b'}, "captures": [{"core:sample_start": 0}'
    return {
        "good": head + captures + b"]}\0" + bytes(range(256)) * 8,
        "floats": head.replace(b"ci16", b"cf32") + captures + b"]}\0" + bytes(4096),
        "two_captures": head + captures + b', {"core:sample_start": 130}]}\0' + bytes(4096),
        "size_text": fill(b"x", head + b', "core:description": "', b'"' + captures + b"]}\0"),
        "size_digest": fill(b"0", head + b', "core:sha512": "', b'"' + captures + b"]}\0"),
        "size_data": fill(b"\1", head + captures + b"]}\0"),
        "depth_arrays": fill(b"["),
        "depth_objects": fill(b'{"a":'),
        "count_captures": gather((b', {"core:sample_start": %d}' % i for i in itertools.count(1)), head + captures, b"]}\0"),
        "count_annotations": fill(b'{"core:sample_start":0},', head + captures + b'], "annotations": [', b"{}]}\0"),
        "count_empty_arrays": fill(b"[],", head + b', "x": [', b"[]]" + captures + b"]}\0"),
    }


REVOCATION_CA = b"""\
-----BEGIN CERTIFICATE-----
MIIBaDCCAQ+gAwIBAgIIPbr7j+ueAIkwCgYIKoZIzj0EAwIwFzEVMBMGA1UEAwwM
VHJpYnV0YXJ5IENBMB4XDTI2MTEyMzAzMjAwNFoXDTM2MTEyMDA0MjAwNFowFzEV
MBMGA1UEAwwMVHJpYnV0YXJ5IENBMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
X9Bw12fmEOHEHGLDG+Q4ujEq4EqHYg15kpebFOhNRgKXKNwKYlg6fNxRfYyaaPy8
l8OS+s51sz7n9O3IcHZYW6NFMEMwEgYDVR0TAQH/BAgwBgEB/wIBADAOBgNVHQ8B
Af8EBAMCAQYwHQYDVR0OBBYEFI38Zc5iB38/KiSpeTn51N1Q0zDGMAoGCCqGSM49
BAMCA0cAMEQCIGWkCChUEwhJNXf5r3gyeznq/4wbaaYbzayVPVCYbXeYAiBkctdI
+/WM30yxmFxcpTsotc2nSLDdozrTvIKUED9CAw==
-----END CERTIFICATE-----
"""

REVOCATION_LIST = b"""\
-----BEGIN X509 CRL-----
MIHKMHMCAQEwCgYIKoZIzj0EAwIwFzEVMBMGA1UEAwwMVHJpYnV0YXJ5IENBFw0y
NjExMjMwNDIwMDVaFw0yNzExMjMwNDIwMDVaMBswGQIIHeTy5UHCDVEXDTI2MTEy
MzA0MjAwNVqgDjAMMAoGA1UdFAQDAgEBMAoGCCqGSM49BAMCA0cAMEQCIH/DwFPm
w+wgzg5QkCTmKMARQsFv3VaqLvIuvfeO9EVIAiBncvGT2ht39fMm28jBadvspY9N
ONpF5DGvQQ+B6qj5vg==
-----END X509 CRL-----
"""


def revocation_lists():
    """A CA and its list, by `tributary certs revoke`, and many of each."""
    return {
        "good": REVOCATION_CA + REVOCATION_LIST,
        "many_lists": fill(REVOCATION_LIST, head=REVOCATION_CA),
        "many_authorities": fill(REVOCATION_CA, tail=REVOCATION_LIST),
        "torn": REVOCATION_CA + REVOCATION_LIST[:200],
        "no_end": fill(b"-----BEGIN X509 CRL-----\n"),
        "no_line_break": fill(b"A", head=b"-----BEGIN X509 CRL-----\n", tail=b"\n-----END X509 CRL-----\n"),
    }


def spool_segments():
    """Headers of an identity of zeros: whole, of another version, torn; records that declare too much."""
    zeros = bytes(32)
    header = b"TRIBSEGM" + (1).to_bytes(4, "little") + crc32c(zeros).to_bytes(4, "little") + zeros

    def record(payload, units=1):
        start = len(payload).to_bytes(4, "little") + units.to_bytes(4, "little")
        return start + crc32c(start + payload).to_bytes(4, "little") + payload

    whole = header + record(b"first") + record(b"second" * 40, 16)
    return {"segment_whole": whole, "segment_torn": whole[:-3], "segment_header": header, "segment_cut": header[:20] + bytes(60),
            "segment_version": header[:8] + b"\x02" + header[9:], "segment_length": header + b"\xff" * 12,
            "segment_many": header + record(b"x") * 500}


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


# Declares that it is an authority with the name of an operator.
CERTIFICATE_REQUEST = b"""\
-----BEGIN CERTIFICATE REQUEST-----
MIIBDDCBswIBADAfMQ4wDAYDVQQDDAVhZG1pbjENMAsGA1UECgwEZXZpbDBZMBMG
ByqGSM49AgEGCCqGSM49AwEHA0IABH+iFcJR2Ht2F8Vd/adHI3zs7ih98btEFbul
qCCfGVL/op1w3MGdd5dIr4B3vxxpeCCmDrAKSrFoVp68xkyzoNygMjAwBgkqhkiG
9w0BCQ4xIzAhMA8GA1UdEwEB/wQFMAMBAf8wDgYDVR0RBAcwBYIDaHViMAoGCCqG
SM49BAMCA0gAMEUCIQCO6mcP+b3NXLO+aacgig2ird3ZLM4lI/vHD13Aiph2DAIg
QIP2ZvWyVRpf1YvlQeBVRtUrUENOUmsAXdelzpJJlb4=
-----END CERTIFICATE REQUEST-----
"""


def certificate_requests():
    begin, end = b"-----BEGIN CERTIFICATE REQUEST-----\n", b"-----END CERTIFICATE REQUEST-----\n"
    return {
        "good": CERTIFICATE_REQUEST,
        "torn": CERTIFICATE_REQUEST[:200],
        "many": fill(CERTIFICATE_REQUEST),
        "no_end": fill(b"A", head=begin),
        "size_empty_lines": fill(b"\n", head=begin, tail=end),
        "encrypted": begin + b"Proc-Type: 4,ENCRYPTED\nDEK-Info: DES-EDE3-CBC,00\n\nAAAA\n" + end,
        # DER whose length says 2 GiB, and sequences within sequences.
        "length_of_2_gib": begin + b"MIR/////AAAA\n" + end,
        "depth_sequences": begin + base64.encodebytes(b"\x30\x82\x0b\x00" * 700) + end,
    }


def join_requests():
    body = json.dumps({"name": "east", "certificate_request": CERTIFICATE_REQUEST.decode()}).encode()
    return {
        "good": body,
        "torn": body[:100],
        "depth_objects": fill(b'{"name":'),
        "depth_arrays": fill(b"[", b'{"x":'),
        "size_name": fill(b"x", b'{"name":"', b'"}'),
        "size_escapes": fill(b"\\u0000", b'{"name":"', b'"}'),
        "count_keys": gather(numbered(b'"%d":0'), b"{", b"}", b","),
        "wrong_types": b'{"name":{},"certificate_request":[1]}',
    }


def labels():
    return {"good": b"BPSK\n8psk\r\n AM-SSB \n\n", "size_count": fill(b"QPSK\n"), "size_line": fill(b"x"),
            "size_lines": fill(b"\n")}


def positions():
    return {"good": b"x,y\n1.25,-3.5\r\n 0 , 2e-1 \n\n", "size_count": fill(b"1,2\n"), "size_line": fill(b"1"),
            "size_number": fill(b"1", b"0,0."), "size_lines": fill(b"\n"), "wrong": b"nan,0\n1,inf\n1;2\n"}


def labelled_ranges():
    # A network that has drifted, and samples enough to train on.
    drifted = b"".join(b"%d,%d.5,%d.25,3,40,-40\n" % (i * 100_000_000, i % 7 + 1, i % 5 + 1) for i in range(1000))
    return {"good": b"1660556544766000000,3.98,0.97,4.06,1.5,-0.32\r\n\n", "drifted": drifted,
            "size_count": fill(b"1,2,3,4,5,6\n"), "size_line": fill(b"1"), "size_fields": fill(b","),
            "size_lines": fill(b"\n"), "wrong": b"-1,2,3,4,5,6\n1,nan,3,4,5,6\n1,2,3,4,inf,6\n1;2\n"}


SEEDS = {
    "access_tokens_fuzz": lambda: toml() | access_tokens(),
    "calibration_text_fuzz": lambda: toml() | calibrations(),
    "answers_fuzz": answers,
    "client_settings_fuzz": lambda: {"size_text": field(1, LONG), "depth_groups": GROUPS},
    "config_fuzz": toml,
    "conflate_fuzz": json_lines,
    "convert_fuzz": frames,
    "classifier_file_fuzz": model_files,
    "encoder_file_fuzz": model_files,
    "engine_fuzz": bytes_of_any_kind,
    "federation_task_fuzz": tasks,
    "session_fuzz": serial_lines,
    "trainer_stream_fuzz": answers_of_trainers,
    "first_words_fuzz": lambda: {
        "hello": b"\x16\x03\x01\x02\x00" + bytes(512), "preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9),
        "size_record": b"\x16\x03\x01\xff\xff" + bytes(1 << 16)},
    "frame_scan_fuzz": lambda: {
        "settings": b"\xff" + b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5),
        "message": b"\x06" + b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\x20\0" + bytes(37),
        "count_headers": fill(b"\0\0\1\x09\0\0\0\0\1a", bytes(25) + b"\0\0\1\x01\0\0\0\0\1a")},
    "federation_wire_fuzz": updates,
    "flat_model_fuzz": model_files,
    "graph_fuzz": graphs,
    "graph_on_unit_fuzz": graphs,
    "http_access_fuzz": lambda: {
        "token": b"Authorization:Bearer tributary_00000000_" + b"0" * 64, "count_cookies": fill(b"a=b;", b"Cookie:"),
        "session": b"Cookie:tributary-session=" + b"0" * 64 + b"\nOrigin:http://localhost\nHost:localhost"},
    "http_message_fuzz": http_targets,
    "http_server_fuzz": http_requests,
    "idx_file_fuzz": idx,
    "image_file_fuzz": pictures,
    "join_request_fuzz": join_requests,
    "labels_fuzz": labels,
    "masking_node_fuzz": bytes_of_any_kind,
    "masking_wire_fuzz": bytes_of_any_kind,
    "network_file_fuzz": lambda: model_files() | {
        name: (ROOT / f"models/{name}.safetensors").read_bytes() for name in ("positioning", "modulation")},
    "node_status_fuzz": lambda: {
        "size_text": field(1, LONG), "count_sensors": many(7), "count_problems": many(10), "count_checks": many(11)},
    "npy_fuzz": npy,
    "onnx_file_fuzz": onnx_files,
    "peer_fuzz": bytes_of_any_kind,
    "positions_fuzz": positions,
    "recording_fuzz": recordings,
    "sigmf_fuzz": sigmf,
    "signing_request_fuzz": certificate_requests,
    "report_session_fuzz": lambda: bytes_of_any_kind(MAX_BYTES // 8),  # messages, each of a byte or more
    "revocation_list_fuzz": revocation_lists,
    "run_config_fuzz": toml,
    "safetensors_fuzz": model_files,
    "samples_text_fuzz": labelled_ranges,
    "segment_fuzz": spool_segments,
    "survey_file_fuzz": lambda: toml() | {
        "example": (ROOT / "deploy/examples/survey.toml").read_bytes(),
        "count_anchors": fill(b"[[anchor]]\nposition=[0,0,0]\n"), "count_coordinates": fill(b"0,", b"[[tag]]\nposition=[", b"]\n")},
    "tensor_program_fuzz": tensor_programs,
    "udp_datagram_fuzz": udp,
    "update_encoding_fuzz": bytes_of_any_kind,
    "watch_statistics_fuzz": lambda: bytes_of_any_kind(MAX_BYTES // 8),
    "xrt_xclbin_fuzz": lambda: {"count_units": xclbin(1), "count_sections": xclbin(256)},
}


def main():
    folder = pathlib.Path(sys.argv[1])
    if missing := {path.stem for path in ROOT.glob("[!b]*/**/*_fuzz.cc")} - SEEDS.keys():
        sys.exit(f"no seeds for {', '.join(sorted(missing))}")
    for target, seeds in SEEDS.items():
        for name, content in seeds().items():
            if len(content) > MAX_BYTES:
                sys.exit(f"{target}/{name} has {len(content)} bytes")
            for size, part in (("whole", content), ("small", content[:SMALL_BYTES])):
                (folder / size / target).mkdir(parents=True, exist_ok=True)
                (folder / size / target / name).write_bytes(part)


if __name__ == "__main__":
    main()
