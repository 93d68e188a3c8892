/**
 * What changed between two versions of a template: each part as a unified diff, by lines. Pure. The work is bounded:
 * two texts that differ in more than MAX_EDITS lines, or take too long to compare, are shown as replaced.
 */
import { structuredPatch } from 'diff'
import type { TemplateVersion } from './version-list.ts'

const CONTEXT_LINES = 3
const MAX_EDITS = 2000
const TIMEOUT_MS = 100

export interface DiffHunk {
  readonly oldStart: number
  readonly newStart: number
  /** Each begins with a space (unchanged), a minus (removed) or a plus (added). */
  readonly lines: readonly string[]
}

export interface PartDiff {
  readonly part: PartName
  readonly added: number
  readonly removed: number
  readonly hunks: readonly DiffHunk[]
}

type Content = Pick<TemplateVersion, 'name' | 'subject' | 'body' | 'text' | 'format' | 'sampleData' | 'partials'>

/** The parts that are compared, each as text. */
const PARTS = {
  name: ({ name }: Content) => name,
  subject: ({ subject }: Content) => subject,
  format: ({ format }: Content) => format,
  body: ({ body }: Content) => body,
  text: ({ text }: Content) => text ?? '',
  sample_data: ({ sampleData }: Content) => (sampleData === null ? '' : JSON.stringify(sampleData, null, 2)),
  partials: ({ partials }: Content) =>
    Object.entries(partials)
      .map(([name, version]) => `${name}, version ${version}`)
      .toSorted()
      .join('\n'),
} as const satisfies Readonly<Record<string, (content: Content) => string>>
export type PartName = keyof typeof PARTS
export const PART_NAMES = Object.keys(PARTS) as [PartName, ...PartName[]]

/** The parts that differ. */
export function diffVersions(older: Content, newer: Content): PartDiff[] {
  return PART_NAMES.flatMap((part) => {
    const [before, after] = [PARTS[part](older), PARTS[part](newer)]
    if (before === after) return []
    const hunks = diffLines(before, after)
    const count = (sign: string): number =>
      hunks.reduce((sum, { lines }) => sum + lines.filter((line) => line.startsWith(sign)).length, 0)
    return [{ part, added: count('+'), removed: count('-'), hunks }]
  })
}

/** A line end at the end of a text would otherwise be reported as a line of its own. */
function diffLines(before: string, after: string): DiffHunk[] {
  const options = { context: CONTEXT_LINES, maxEditLength: MAX_EDITS, timeout: TIMEOUT_MS }
  const patch = structuredPatch('', '', before, after, '', '', options)
  if (patch === undefined) return [replaced(before, after)]
  return patch.hunks.map(({ oldStart, newStart, lines }) => ({
    oldStart,
    newStart,
    lines: lines.filter((line) => !line.startsWith('\\')),
  }))
}

function replaced(before: string, after: string): DiffHunk {
  const linesOf = (sign: string, text: string): string[] =>
    text === ''
      ? []
      : text
          .replace(/\n$/, '')
          .split('\n')
          .map((line) => sign + line)
  return { oldStart: 1, newStart: 1, lines: [...linesOf('-', before), ...linesOf('+', after)] }
}
