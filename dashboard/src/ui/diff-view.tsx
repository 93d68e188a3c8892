import { useMemo } from 'react'
import { cx } from './class-names.ts'
import { diffLines, type DiffLine } from './line-diff.ts'
import { useUiTexts } from './ui-texts.ts'

export interface DiffViewProps {
  before: string
  after: string
  label: string
  /** How many equal lines stay around each change. */
  context?: number | undefined
}

type Part = DiffLine | { kind: 'gap'; count: number; at: number }

/** Long runs of equal lines become one gap. */
function foldLines(lines: readonly DiffLine[], context: number): Part[] {
  const isKept = lines.map((line) => line.kind !== 'same')
  lines.forEach((line, index) => {
    if (line.kind === 'same') return
    for (let near = Math.max(0, index - context); near <= Math.min(lines.length - 1, index + context); near += 1)
      isKept[near] = true
  })
  const parts: Part[] = []
  lines.forEach((line, index) => {
    const last = parts.at(-1)
    if (isKept[index] === true) parts.push(line)
    else if (last?.kind === 'gap') last.count += 1
    else parts.push({ kind: 'gap', count: 1, at: index })
  })
  return parts
}

const LOOK = { same: '', added: 'bg-success-soft', removed: 'bg-danger-soft' }
const SIGN = { same: ' ', added: '+', removed: '−' }

function Line({ line }: { line: DiffLine }) {
  const texts = useUiTexts()
  return (
    <div className={cx('flex', LOOK[line.kind])}>
      <span aria-hidden="true" className="flex shrink-0 text-right text-muted tabular-nums select-none">
        <span className="w-9 pr-1 max-sm:hidden">{line.oldNumber}</span>
        <span className="w-9 pr-1">{line.newNumber}</span>
        <span className="w-6 text-center">{SIGN[line.kind]}</span>
      </span>
      {line.kind !== 'same' && <span className="sr-only">{texts[line.kind]}: </span>}
      <span className="min-w-0 grow pr-3 break-words whitespace-pre-wrap">{line.text}</span>
    </div>
  )
}

/** Two versions of a text, with what was added and removed. */
export function DiffView({ before, after, label, context = 3 }: DiffViewProps) {
  const texts = useUiTexts()
  const diff = useMemo(() => diffLines(before, after), [before, after])
  const parts = useMemo(() => foldLines(diff.lines, context), [diff, context])
  return (
    <div
      role="region"
      aria-label={label}
      tabIndex={0}
      className="max-h-[36rem] overflow-auto rounded-lg border border-line bg-surface py-1 font-mono text-xs leading-5 text-ink"
    >
      {!diff.isComplete && <p className="px-3 py-1 font-sans text-sm text-muted">{texts.tooLongToCompare}</p>}
      {parts.map((part) =>
        part.kind === 'gap' ? (
          <div key={`gap-${part.at.toString()}`} className="my-1 bg-sunken px-3 py-0.5 font-sans text-muted">
            {texts.unchanged(part.count)}
          </div>
        ) : (
          <Line key={`${part.kind}-${String(part.oldNumber)}-${String(part.newNumber)}`} line={part} />
        ),
      )}
    </div>
  )
}
