/**
 * Expands partials as text before any other step, so a compiled template depends on none and a past message can be sent
 * again even if its partial changed. A partial contains no partials, so there is no recursion. Error positions refer to
 * the authored source: a line of the template or a line of the partial.
 */
import { type TextEdit, applyEdits } from './text-edits.ts'
import { findExpressions, lineAt } from './expressions.ts'
import { TemplateError } from './helpers.ts'
import type { FormatLine } from './mjml.ts'

export const PARTIAL_NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/i

/** One use of a partial in a source. */
export interface PartialUse {
  readonly name: string
  readonly line: number
}

/** Bodies by name of the partial. */
export type PartialBodies = Readonly<Record<string, string>>

export interface ExpandedSource {
  readonly text: string
  readonly formatLine: FormatLine
}

/** Finds partial names without parsing. The result includes at least every partial that the sources use. */
export function findPartialNames(...sources: readonly (string | null)[]): string[] {
  return [
    ...new Set(
      sources.flatMap((source) => [...(source?.matchAll(/\{\{~?>\s*([\w-]+)/g) ?? [])].map(([, name]) => name ?? '')),
    ),
  ]
}

/**
 * Expands the partials in `uses`, the result of `validateAuthoredSource`. @throws TemplateError for an unknown partial.
 */
export function expandPartials(source: string, uses: readonly PartialUse[], partials: PartialBodies): ExpandedSource {
  const expressions = findExpressions(source).filter(({ kind }) => kind === 'partial')
  const edits = uses.map(({ name, line }, i): TextEdit & { readonly name: string } => {
    const text = Object.hasOwn(partials, name) ? partials[name] : undefined
    const expression = expressions[i]
    if (text === undefined || expression === undefined)
      throw new TemplateError(`line ${line}: there is no partial "${name}"`)
    return { start: expression.start, end: expression.end, text, name }
  })
  return { text: applyEdits(source, edits), formatLine: createLineFormatter(source, edits) }
}

function createLineFormatter(source: string, edits: readonly (TextEdit & { readonly name: string })[]): FormatLine {
  let added = 0
  const insertions = edits.map(({ start, end, text, name }) => {
    const from = lineAt(source, start) + added
    const lines = lineAt(text, text.length) - 1
    added += lines - (lineAt(source, end) - lineAt(source, start))
    return { name, from, to: from + lines, added }
  })
  return (line) => {
    const inside = insertions.find(({ from, to }) => line > from && line <= to)
    if (inside !== undefined) return `line ${line - inside.from + 1} of the partial ${inside.name}`
    return `line ${line - (insertions.findLast(({ to }) => line >= to)?.added ?? 0)}`
  }
}
