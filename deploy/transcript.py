"""Put a fresh transcript of the demonstration into README.md: what `make demo` prints, as it is, where there is no terminal."""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"
BLOCK = re.compile(r"(<!-- transcript -->\n```console\n).*?(```\n<!-- /transcript -->)", re.DOTALL)


def main() -> int:
    """Run the demonstration and replace the block; the demonstration's exit code."""
    done = subprocess.run([sys.executable, "-m", "factsieve", "demo"], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return done.returncode
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    text = README.read_text(encoding="utf-8")
    block = "$ make demo\n" + "\n".join(lines) + "\n"
    fresh, count = BLOCK.subn(lambda match: match[1] + block + match[2], text)
    if count != 1:
        sys.stderr.write("README.md has no transcript block\n")
        return 1
    README.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
