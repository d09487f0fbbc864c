"""The look of the page of `dwh report html`: light or dark, as the reader's system is."""

STYLE = """
:root { --ink: #1c2430; --soft: #5d6b7e; --line: #dfe4ea; --back: #f6f7f9; --card: #fff; --main: #2563a8; --area: #2563a81f;
  --good: #1d7a46; --goodback: #e2f3e8; --calm: #2b5f94; --calmback: #e4eef8; --warn: #8a5a00; --warnback: #fdf0d3;
  --bad: #b3261e; --badback: #fbe4e2; --off: #6b7280; --offback: #eceef1; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --soft: #98a4b5; --line: #2c3440; --back: #12161c; --card: #1a2028;
  --main: #74b0f0; --area: #74b0f026; --good: #7bd6a0; --goodback: #163a26; --calm: #8fc0f2; --calmback: #1c3550;
  --warn: #f0c46a; --warnback: #403010; --bad: #ff9a92; --badback: #4a1c19; --off: #9aa4b2; --offback: #262d37; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink); font: 14px/1.5 system-ui, "Segoe UI", Roboto, sans-serif; }
main { max-width: 1240px; margin: 0 auto; padding: 28px 20px 60px; }
header { display: flex; align-items: baseline; justify-content: space-between; flex-wrap: wrap; gap: 4px 20px; }
h1 { font-size: 24px; margin: 0; } header p { margin: 0; color: var(--soft); }
h2 { font-size: 17px; margin: 0 0 4px; } h3 { font-size: 14px; margin: 18px 0 6px; }
small { color: var(--soft); font-weight: normal; margin-left: 6px; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 16px 18px; margin-top: 18px; }
.about, .none { color: var(--soft); margin: 0 0 8px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(140px, 1fr)); gap: 12px; margin-top: 18px; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 12px 16px; }
.tile b { display: block; font-size: 22px; line-height: 1.2; font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); } .tile.bad b { color: var(--bad); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--soft); white-space: nowrap; }
th, td { padding: 5px 12px 5px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
tr:last-child td { border-bottom: 0; } td { white-space: nowrap; }
td:last-child { white-space: normal; overflow-wrap: anywhere; min-width: 160px; } .right { text-align: right; }
td.right:last-child { min-width: 0; }
.pill { display: inline-block; padding: 0 8px; border-radius: 9px; font-size: 12px; font-weight: 600; }
.good { color: var(--good); background: var(--goodback); } .calm { color: var(--calm); background: var(--calmback); }
.warn { color: var(--warn); background: var(--warnback); } .pill.bad { color: var(--bad); background: var(--badback); }
.off { color: var(--off); background: var(--offback); }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(250px, 1fr)); gap: 10px; }
.plot { width: 100%; height: auto; background: var(--back); border-radius: 8px; }
.plot text { fill: var(--soft); font-size: 10px; } .plot .name { fill: var(--ink); font-weight: 600; font-size: 11px; }
.plot .none { font-size: 11px; } .axis { stroke: var(--line); } .line { fill: none; stroke: var(--main); stroke-width: 1.6; }
.area { fill: var(--area); } .stem { stroke: var(--main); stroke-width: 2; } .dot { fill: var(--main); }
.hit { fill: transparent; } .hit:hover { fill: var(--area); }
@media print { section, .tile { break-inside: avoid; } }
"""
