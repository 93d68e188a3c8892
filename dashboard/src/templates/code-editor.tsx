/**
 * The code editor (CodeMirror). It is loaded with the first editor on a page. Its style sheets carry the nonce of the
 * page. The text outside is the truth: a text that differs from that of the editor replaces it.
 */
import { html } from '@codemirror/lang-html'
import { lintGutter, setDiagnostics, type Diagnostic } from '@codemirror/lint'
import { Compartment, EditorState } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { basicSetup } from 'codemirror'
import { useEffect, useRef, type ReactNode } from 'react'
import { readCspNonce } from '#dashboard/src/ui/csp-nonce.ts'
import { createVariableCompletion } from './code-completion.ts'
import { CODE_THEME } from './code-theme.ts'

export interface CodeProblem {
  /** From 1. */
  readonly line: number
  readonly severity: 'error' | 'warning'
  readonly message: string
}

export interface CodeEditorProps {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly label: string
  readonly language: 'html' | 'text'
  readonly problems?: readonly CodeProblem[]
  /** Completed besides those of contacts. */
  readonly variables?: readonly string[]
  readonly isReadOnly?: boolean
}

const NO_PROBLEMS: readonly CodeProblem[] = []
const NO_NAMES: readonly string[] = []

export function CodeEditor(props: CodeEditorProps): ReactNode {
  const { value, label, language, problems = NO_PROBLEMS, isReadOnly = false } = props
  const box = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView | null>(null)
  const latest = useRef(props)
  useEffect(() => {
    latest.current = props
  })
  useEffect(() => {
    const parent = box.current
    if (parent === null) return undefined
    const created = createView(parent, latest, { label, language, isReadOnly })
    view.current = created
    return () => {
      created.destroy()
      view.current = null
    }
  }, [label, language, isReadOnly])
  useEffect(() => {
    const current = view.current
    if (current === null || current.state.doc.toString() === value) return
    current.dispatch({ changes: { from: 0, to: current.state.doc.length, insert: value } })
  }, [value])
  useEffect(() => {
    const current = view.current
    if (current !== null) current.dispatch(setDiagnostics(current.state, toDiagnostics(current.state, problems)))
  }, [problems, language])
  return <div ref={box} className="h-full min-h-0 overflow-hidden" />
}

interface Look {
  readonly label: string
  readonly language: CodeEditorProps['language']
  readonly isReadOnly: boolean
}

function createView(
  parent: HTMLElement,
  latest: { readonly current: CodeEditorProps },
  { label, language, isReadOnly }: Look,
): EditorView {
  const nonce = readCspNonce()
  const complete = createVariableCompletion(() => latest.current.variables ?? NO_NAMES)
  const readOnly = new Compartment()
  return new EditorView({
    parent,
    state: EditorState.create({
      doc: latest.current.value,
      extensions: [
        ...(nonce === undefined ? [] : [EditorView.cspNonce.of(nonce)]),
        basicSetup,
        CODE_THEME,
        EditorView.lineWrapping,
        lintGutter(),
        // Tab moves the focus, so that the keyboard can leave the editor
        ...(language === 'html' ? [html()] : []),
        EditorState.languageData.of(() => [{ autocomplete: complete }]),
        readOnly.of([EditorState.readOnly.of(isReadOnly), EditorView.editable.of(!isReadOnly)]),
        EditorView.contentAttributes.of({ 'aria-label': label }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) latest.current.onChange(update.state.doc.toString())
        }),
      ],
    }),
  })
}

/** A line beyond the end belongs to an older text; the last one shows it. */
function toDiagnostics(state: EditorState, problems: readonly CodeProblem[]): readonly Diagnostic[] {
  return problems.map(({ line: number, severity, message }) => {
    const line = state.doc.line(Math.min(Math.max(number, 1), state.doc.lines))
    return { from: line.from, to: line.to, severity, message }
  })
}
