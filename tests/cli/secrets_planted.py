"""Puts what looks secret in the place of every text and number of objects, and says what an anonymised snapshot keeps of it."""

import json
import re

from support import CliTest

SECRETS = ["10.20.30.41", "2001:db8:85a3::8a2e:370:7334", "00:1b:44:11:3a:b7", "00:11:22:33:44:55", "0123456789012", "1650823456789",
           "gpu17.corp.example.org", "alice@example.org", "9f1b2c3d-0a1b-4c2d-8e9f-001122334455", "c2VjcmV0LWtleS0wMQ==", "/home/alice/keys",
           "GPU-9f1b2c3d-0a1b", "0000:3b:00.0", "alice-laptop", "10-20-30-41", "1325-0210-1234"]


class SecretsTest(CliTest):
    """One secret at a time."""

    # What these fields hold is one of a few words, or else the object is none that is read.
    FIXED = {"kind", "apiVersion"}

    def leaves(self, value, path=()):
        if isinstance(value, dict):
            for key, member in value.items():
                yield from self.leaves(member, (*path, key))
        elif isinstance(value, list):
            for position, member in enumerate(value):
                yield from self.leaves(member, (*path, position))
        elif path[-1] not in self.FIXED and not isinstance(value, bool):
            yield path, value

    def changed(self, objects, path, text):
        copy = json.loads(json.dumps(objects))
        holder = copy
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = text
        return copy

    def forms_of(self, value, secret):
        """The secret alone, behind the text that was there, and in the place of its first token and of its last one."""
        yield secret
        if not isinstance(value, str):
            return
        yield f"{value} {secret}"
        tokens = re.findall(r"[^\s,:;{}\[\]\"]+", value)
        if len(tokens) > 1:
            yield value.replace(tokens[0], secret, 1)
            yield value.replace(tokens[-1], secret)

    def secrets_kept(self, objects):
        kept, tries = [], 0
        leaves = list(self.leaves(objects))
        for number, (path, value) in enumerate(leaves):
            # A field gets one secret in one form; its likes in other objects get the others.
            secret = SECRETS[number % len(SECRETS)]
            if secret.isdigit() and {"allocatable", "capacity", "limits", "requests"} & set(path):
                continue  # there it is an amount
            forms = list(self.forms_of(value, secret))
            text = forms[number // len(SECRETS) % len(forms)]
            file = self.write("cluster.json", json.dumps(self.changed(objects, path, text)))
            out = self.root / "nameless.json"
            out.unlink(missing_ok=True)
            self.vgpusim("snapshot", file, "--anonymise", "--out", out)
            tries += 1
            if out.exists() and secret in out.read_text():
                kept.append((path, text))
        return kept, tries
