"""The look of the evidence page: one style sheet, light and dark, that needs nothing else."""

import base64
import hashlib

CSS = """
:root { color-scheme: light dark; --ink: #1c2024; --soft: #60676e; --line: #dfe3e6;
  --paper: #ffffff; --box: #f6f7f8; --good: #18794e; --good-box: #e6f6ec; --bad: #b42318;
  --bad-box: #fdecea; --wait: #8a5a00; --wait-box: #fff5dd; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaed; --soft: #a0a7ae; --line: #33383d;
  --paper: #15181b; --box: #1d2125; --good: #5fd39a; --good-box: #14301f; --bad: #ff8a80;
  --bad-box: #3a1a18; --wait: #f2c266; --wait-box: #33280f; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; }
h1 { font-size: 1.6rem; line-height: 1.3; margin: .4rem 0 .8rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2.4rem 0 .7rem; padding-top: 1.2rem;
  border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 0 0 .4rem; overflow-wrap: anywhere; }
p { margin: .4rem 0; overflow-wrap: anywhere; }
.soft { color: var(--soft); font-size: .9rem; }
.badge { display: inline-block; padding: .1rem .6rem; border-radius: 1rem; font-size: .85rem;
  font-weight: 600; white-space: nowrap; }
.good { color: var(--good); background: var(--good-box); }
.bad { color: var(--bad); background: var(--bad-box); }
.wait { color: var(--wait); background: var(--wait-box); }
.finishes { display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr));
  gap: .8rem; margin: 1.4rem 0 0; padding: 0; list-style: none; }
.finishes li, .card { background: var(--box); border: 1px solid var(--line); border-radius: .6rem;
  padding: .8rem 1rem; }
.card { margin: .8rem 0; }
.finishes b { display: block; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0;
  border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
th { color: var(--soft); font-weight: 500; white-space: nowrap; }
td.wide { width: 100%; }
code, pre { font: .84rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
code { overflow-wrap: anywhere; }
pre { margin: .6rem 0; padding: .8rem 1rem; overflow-x: auto; background: var(--box);
  border: 1px solid var(--line); border-radius: .6rem; }
pre span { display: block; min-height: 1.5em; white-space: pre; }
.add { color: var(--good); background: var(--good-box); }
.del { color: var(--bad); background: var(--bad-box); }
.at { color: var(--soft); }
.head { font-weight: 600; }
@media print { main { max-width: none; padding: 0; } .card { break-inside: avoid; } }
"""

_HASH = base64.b64encode(hashlib.sha256(CSS.encode()).digest()).decode()

POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'"
"""What a browser may load for the page: this style sheet, and nothing else at all."""
