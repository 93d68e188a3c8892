/**
 * Partials are put in as text before anything else is done, so a finished template needs none: what was sent with it can be sent again,
 * whatever becomes of the partial. A partial holds no partials, so there is no recursion. Places in the result are said in the words of
 * whoever wrote them: the line of the template, or that of the partial.
 */
import { type Edit, write } from './text-edits.ts'
import { findExpressions, lineAt } from './expressions.ts'
import { TemplateError } from './helpers.ts'
import type { SayLine } from './mjml.ts'

export const PARTIAL_NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/i

/** Where a source names a partial. */
export interface PartialUse {
  readonly name: string
  readonly line: number
}

/** By name. */
export type Partials = Readonly<Record<string, string>>

export interface Expanded {
  readonly text: string
  readonly sayLine: SayLine
}

/** Names that a source may use, found without parsing it: at least all that it does use. */
export function guessPartials(...sources: readonly (string | null)[]): string[] {
  return [
    ...new Set(
      sources.flatMap((source) => [...(source?.matchAll(/\{\{~?>\s*([\w-]+)/g) ?? [])].map(([, name]) => name ?? '')),
    ),
  ]
}

/** `uses` as `inspectWritten` found them. @throws TemplateError for one that is not there. */
export function expandPartials(source: string, uses: readonly PartialUse[], partials: Partials): Expanded {
  const places = findExpressions(source).filter(({ kind }) => kind === 'partial')
  const edits = uses.map(({ name, line }, i): Edit & { readonly name: string } => {
    const text = Object.hasOwn(partials, name) ? partials[name] : undefined
    const place = places[i]
    if (text === undefined || place === undefined)
      throw new TemplateError(`line ${line}: there is no partial "${name}"`)
    return { start: place.start, end: place.end, text, name }
  })
  return { text: write(source, edits), sayLine: namesOfLines(source, edits) }
}

function namesOfLines(source: string, edits: readonly (Edit & { readonly name: string })[]): SayLine {
  let added = 0
  const stretches = edits.map(({ start, end, text, name }) => {
    const from = lineAt(source, start) + added
    const lines = lineAt(text, text.length) - 1
    added += lines - (lineAt(source, end) - lineAt(source, start))
    return { name, from, to: from + lines, added }
  })
  return (line) => {
    const inside = stretches.find(({ from, to }) => line > from && line <= to)
    if (inside !== undefined) return `line ${line - inside.from + 1} of the partial ${inside.name}`
    return `line ${line - (stretches.findLast(({ to }) => line >= to)?.added ?? 0)}`
  }
}
