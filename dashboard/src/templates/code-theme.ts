/** The look of the code editor, from the tokens of the page: it follows the light and the dark theme by itself. */
import { syntaxHighlighting } from '@codemirror/language'
import { EditorView } from '@codemirror/view'

const FONT = 'var(--font-mono)'

const BASE = EditorView.theme({
  '&': { height: '100%', fontSize: '13px', color: 'var(--text)', backgroundColor: 'var(--surface)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: FONT, lineHeight: '1.55' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { color: 'var(--text-faint)', backgroundColor: 'var(--surface)', border: 'none' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--hover) 60%, transparent)' },
  '.cm-activeLineGutter': { backgroundColor: 'var(--hover)', color: 'var(--text)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--accent-soft)',
  },
  '.cm-selectionMatch': { backgroundColor: 'var(--warning-soft)' },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--accent-soft)', color: 'var(--accent-text)' },
  '.cm-foldPlaceholder': { color: 'var(--text-muted)', backgroundColor: 'var(--sunken)', border: 'none' },
  '.cm-tooltip': {
    color: 'var(--text)',
    backgroundColor: 'var(--raised)',
    border: '1px solid var(--border)',
    borderRadius: '6px',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    color: 'var(--text)',
    backgroundColor: 'var(--accent-soft)',
  },
  '.cm-completionDetail': { color: 'var(--text-muted)', fontStyle: 'normal' },
  '.cm-panels': { color: 'var(--text)', backgroundColor: 'var(--sunken)' },
  '.cm-panels.cm-panels-bottom': { borderTop: '1px solid var(--border)' },
  '.cm-textfield': { backgroundColor: 'var(--surface)', border: '1px solid var(--border-control)' },
  '.cm-button': {
    backgroundImage: 'none',
    backgroundColor: 'var(--surface)',
    border: '1px solid var(--border-control)',
  },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--danger)' },
  '.cm-diagnostic-warning': { borderLeftColor: 'var(--warning)' },
  '.tok-tag': { color: 'var(--accent-text)' },
  '.tok-name': { color: 'var(--info-text)' },
  '.tok-string': { color: 'var(--success-text)' },
  '.tok-comment': { color: 'var(--text-faint)', fontStyle: 'italic' },
  '.tok-value': { color: 'var(--warning-text)' },
  '.tok-mark': { color: 'var(--text-muted)' },
})

/** Names of the parser's tags, and of the more general tags that they belong to. */
const CLASSES: Readonly<Record<string, string>> = {
  tagName: 'tok-tag',
  keyword: 'tok-tag',
  attributeName: 'tok-name',
  propertyName: 'tok-name',
  className: 'tok-name',
  attributeValue: 'tok-string',
  string: 'tok-string',
  comment: 'tok-comment',
  number: 'tok-value',
  unit: 'tok-value',
  color: 'tok-value',
  bool: 'tok-value',
  atom: 'tok-value',
  character: 'tok-value',
  angleBracket: 'tok-mark',
  meta: 'tok-mark',
}

const HIGHLIGHTING = syntaxHighlighting({
  style: (tags) => {
    for (const tag of tags) {
      const name = [tag, ...tag.set].map(String).find((one) => Object.hasOwn(CLASSES, one))
      if (name !== undefined) return CLASSES[name] ?? null
    }
    return null
  },
})

export const CODE_THEME = [BASE, HIGHLIGHTING]
