"""How the kit's boxes look: one style sheet, made of the notebook's own colours, light and dark."""

# JupyterLab's variables first, then VS Code's, then values for a plain page. Verdicts differ by word and
# sign, not by colour alone.
CSS = """<style>
.kit-box {
  --text: var(--jp-content-font-color1, var(--vscode-foreground, #1f2328));
  --soft: var(--jp-content-font-color2, var(--vscode-descriptionForeground, #59636e));
  --line: var(--jp-border-color2, var(--vscode-panel-border, #d0d7de));
  --back: var(--jp-layout-color1, var(--vscode-editor-background, #ffffff));
  --code: var(--jp-layout-color2, var(--vscode-textCodeBlock-background, #f3f5f7));
  --good: var(--jp-success-color1, #1a7f37);
  --bad: var(--jp-error-color1, #c62828);
  color: var(--text); font: 14px/1.5 var(--jp-content-font-family, system-ui, sans-serif);
  max-width: 60rem;
}
.kit-box *, .kit-box *::before { box-sizing: border-box; }
.kit-title { font-weight: 600; margin: 0 0 .3rem; }
.kit-note, .kit-soft { color: var(--jp-content-font-color2, var(--vscode-descriptionForeground, #59636e)); }
.kit-note { font: 14px/1.5 var(--jp-content-font-family, system-ui, sans-serif); max-width: 60rem; }
.kit-box pre {
  background: var(--code); color: var(--text); border: 0; border-radius: 4px;
  margin: .2rem 0 .6rem; padding: .5rem .7rem;
  font: 13px/1.45 var(--jp-code-font-family, ui-monospace, monospace); white-space: pre-wrap;
  overflow-wrap: anywhere;
}
.kit-diff .kit-file { background: color-mix(in srgb, var(--bad) 14%, transparent); }
.kit-diff .kit-cell { background: color-mix(in srgb, var(--good) 16%, transparent); }
.kit-diff span { display: inline-block; width: 1.4em; opacity: .8; user-select: none; }
.kit-legend { color: var(--soft); } .kit-legend span { margin-right: 1em; }
.kit-head { display: flex; flex-wrap: wrap; gap: .2rem .8rem; align-items: baseline; margin: .2rem 0 .5rem; }
.kit-badge {
  border: 1.5px solid currentColor; border-radius: 1em; padding: .05rem .7rem;
  font-weight: 600; white-space: nowrap;
}
.kit-badge.good { color: var(--good); } .kit-badge.bad { color: var(--bad); }
.kit-badge.none { color: var(--soft); }
.kit-tests { list-style: none; margin: 0 0 .6rem; padding: 0; }
.kit-tests li { display: flex; gap: .6rem; padding: .12rem .3rem; border-left: 3px solid transparent; }
.kit-tests .mark { flex: none; width: 1.2em; text-align: center; font-weight: 700; }
.kit-tests .good .mark { color: var(--good); } .kit-tests .bad .mark { color: var(--bad); }
.kit-tests .bad { border-left-color: var(--bad); }
.kit-tests .none { color: var(--soft); }
.kit-tests .outcome { color: var(--soft); margin-left: auto; white-space: nowrap; }
.kit-fail {
  border: 1px solid var(--line); border-left: 3px solid var(--bad); border-radius: 4px;
  padding: .5rem .9rem; margin: 0 0 .6rem; background: var(--back);
}
.kit-box .kit-fail dl { display: grid; grid-template-columns: max-content 1fr; gap: .35rem 1.1rem; margin: .3rem 0; }
.kit-box .kit-fail :is(dt, dd) { float: none; width: auto; margin: 0; padding: 0; font-weight: 400; min-width: 0; }
.kit-box .kit-fail dt { color: var(--soft); } .kit-box .kit-fail dd.name { font-weight: 600; }
.kit-box .kit-fail pre { margin: 0; padding: .15rem .6rem; max-height: 14rem; overflow-y: auto; }
.kit-box summary { cursor: pointer; color: var(--soft); }
.kit-box summary:focus-visible { outline: 2px solid; }
.kit-warn { border-left: 3px solid var(--jp-warn-color1, #b26a00); padding-left: .6rem; margin: 0 0 .4rem; }
.kit-means { border-collapse: collapse; margin: .2rem 0 .5rem; }
.kit-means caption { text-align: left; font-weight: 600; padding-bottom: .2rem; }
.kit-means td { padding: .1rem 1rem .1rem 0; text-align: left; border-top: 1px solid var(--line); }
.kit-means td:last-child { text-align: right; font-variant-numeric: tabular-nums; font-weight: 600; }
</style>"""
