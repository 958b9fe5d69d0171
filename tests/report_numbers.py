"""Checks the numbers in the sentences of REPORT.md, those outside of marked
tables: every claim of tests/report_claims.py must stand there with the value
that the data or a command give now, and every number must belong to one.
usage: report_numbers.py REPORT.md; exit status 1 when something is wrong.

How it works: the text is reduced to its sentences (tables between markers,
code and addresses are left out), joined to one line; claims are looked up in
it, and what they cover is marked."""
import re
import sys

from report_claims import CLAIMS, STATEMENTS, SOURCED
from report_values import VALUES

# a number that is no part of a name: not of PP16, A100, VPP2, 7B-A1B
NUMBER = re.compile(r"(?<![\w.\-/#])\d[\d,]*(?:\.\d+)?(?![\w\-]*[A-Za-z_]\w*\d)"
                    r"(?=%|x\b|[^\w]|$)")


def blank(pattern, text, flags=re.S):
    """Spaces in place of what matches, so that places stay."""
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m.group(0)), text,
                  flags=flags)


def prose(text):
    """Only sentences: code and tables between markers carry no claim."""
    text = blank(r"<!-- begin:(\S+) -->.*?<!-- end:\1 -->", text)
    text = blank(r"```.*?```", text)
    text = blank(r"^ {4,}\S.*?$", text, re.M)
    text = blank(r"`[^`\n]*`", text)
    text = blank(r"\[?(?:section|appendix)\s+[0-9A-Z.]+", text, 0)
    text = blank(r"\[\d+\.\d+\]", text, 0)
    text = blank(r"^\d+\. ", text, re.M)
    text = blank(r"\]\([^)]*\)", text)
    text = blank(r"<[^>]*>", text)
    text = blank(r"^#+ .*?$", text, re.M)
    return text


def one_line(text):
    return " ".join(text.split())


def section(text, at):
    found = "the beginning"
    for m in re.finditer(r"^#+ +(.*)$", text[:at], re.M):
        found = m.group(1)
    return found


def places(words):
    """The words joined by single spaces, and where each character stood."""
    joined, where = [], []
    for m in re.finditer(r"\S+", words):
        if joined:
            joined.append(" ")
            where.append(m.start())
        joined.append(m.group(0))
        where.extend(range(m.start(), m.end()))
    return "".join(joined), where


def pattern_of(template):
    """What stands in a claim's place whatever its values."""
    parts = re.split(r"\{[A-Z0-9_]+\}", template.replace("{{", "\0")
                     .replace("}}", "\1"))
    return r"\S+".join(re.escape(p.replace("\0", "{").replace("\1", "}"))
                       for p in parts)


class Report:
    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            self.text = f.read()
        self.path = path
        self.line, self.where = places(self.text)
        self.sentences, self.at = places(prose(self.text))
        self.covered = set()
        self.wrong = 0

    def complain(self, where, what):
        self.wrong += 1
        print(f"{self.path}: section '{section(self.text, where)}': {what}")

    def cover(self, words):
        """Marks every place of the words; False when there is none."""
        found = False
        start = self.line.find(words)
        while start >= 0:
            found = True
            self.covered.update(self.where[start:start + len(words)])
            start = self.line.find(words, start + 1)
        return found

    def claim(self, template):
        names = re.findall(r"(?<!{){([A-Z0-9_]+)}", template)
        missing = [k for k in names if k not in VALUES]
        if missing:
            self.complain(0, f"'{template}' wants {missing[0]}, which "
                             "tests/report_values.py does not have")
            return
        words = template.format(**{k: VALUES[k]() for k in names})
        if self.cover(words):
            return
        near = re.search(pattern_of(template), self.line)
        if near:
            self.cover(near.group(0))
            self.complain(self.where[near.start()],
                          f"it says '{near.group(0)}', the data give "
                          f"'{words}'; correct the sentence")
        else:
            self.complain(0, f"'{words}' stands nowhere; it is listed in "
                             "tests/report_claims.py")

    def sourced(self, words, source):
        if not self.cover(words):
            self.complain(0, f"'{words}' ({source}) stands nowhere; take it "
                             "out of tests/report_claims.py")
        for address in re.findall(r"https?://\S+", source):
            if f"({address})" not in self.text:
                self.complain(0, f"'{words}' has no link to {address}")

    def uncovered(self):
        for m in NUMBER.finditer(self.sentences):
            at = self.at[m.start()]
            if at not in self.covered:
                around = self.sentences[max(0, m.start() - 40):m.end() + 25]
                self.complain(at, f"the number '{m.group(0)}' has no source "
                                  f"('{around}'); add it to "
                                  "tests/report_claims.py")


def main():
    report = Report(sys.argv[1])
    for name in sorted(set(VALUES) - set(re.findall(
            r"(?<!{){([A-Z0-9_]+)}", " ".join(CLAIMS)))):
        report.complain(0, f"no sentence states {name} of "
                           "tests/report_values.py; take it out")
    for template in CLAIMS:
        report.claim(template)
    for words, source in SOURCED:
        report.sourced(words, source)
    for words, holds in STATEMENTS:
        if not report.cover(words):
            report.complain(0, f"'{words}' stands nowhere")
        elif not holds():
            report.complain(report.where[report.line.find(words)],
                            f"'{words}' does not hold for the data any more")
    report.uncovered()
    if report.wrong:
        print(f"{report.path}: {report.wrong} numbers in sentences are not "
              "what they should be")
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
