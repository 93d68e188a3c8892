/**
 * Compares two texts line by line: the longest common subsequence, after equal lines at both ends are set aside. The
 * table of the middle part is bounded; larger parts are shown as removed and added as a whole (`isComplete` false).
 */
export interface DiffLine {
  kind: 'same' | 'added' | 'removed'
  text: string
  /** Numbers from 1 in the old and in the new text. */
  oldNumber: number | null
  newNumber: number | null
}

export interface LineDiff {
  lines: readonly DiffLine[]
  isComplete: boolean
}

const MAX_CELLS = 4_000_000

type Kinds = DiffLine['kind'][]

/** For each step from the start to the end: same, removed or added. */
function findSteps(before: readonly string[], after: readonly string[]): Kinds {
  const width = after.length + 1
  const lengths = new Uint32Array((before.length + 1) * width)
  const at = (row: number, column: number) => lengths[row * width + column] ?? 0
  for (let row = before.length - 1; row >= 0; row -= 1)
    for (let column = after.length - 1; column >= 0; column -= 1)
      lengths[row * width + column] =
        before[row] === after[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1))
  const steps: Kinds = []
  let row = 0
  let column = 0
  while (row < before.length || column < after.length) {
    const isSame = row < before.length && column < after.length && before[row] === after[column]
    const isRemoved = row < before.length && (column === after.length || at(row + 1, column) >= at(row, column + 1))
    const kind = isSame ? 'same' : isRemoved ? 'removed' : 'added'
    steps.push(kind)
    if (kind !== 'added') row += 1
    if (kind !== 'removed') column += 1
  }
  return steps
}

export function diffLines(before: string, after: string): LineDiff {
  const a = before.split('\n')
  const b = after.split('\n')
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1
  let end = 0
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end += 1
  const middleA = a.slice(start, a.length - end)
  const middleB = b.slice(start, b.length - end)
  const isComplete = middleA.length * middleB.length <= MAX_CELLS
  const middle: Kinds = isComplete
    ? findSteps(middleA, middleB)
    : [...middleA.map(() => 'removed' as const), ...middleB.map(() => 'added' as const)]
  const same = (count: number): Kinds => Array.from({ length: count }, () => 'same' as const)
  let oldNumber = 0
  let newNumber = 0
  const lines = [...same(start), ...middle, ...same(end)].map((kind): DiffLine => {
    if (kind !== 'added') oldNumber += 1
    if (kind !== 'removed') newNumber += 1
    return {
      kind,
      text: (kind === 'added' ? b[newNumber - 1] : a[oldNumber - 1]) ?? '',
      oldNumber: kind === 'added' ? null : oldNumber,
      newNumber: kind === 'removed' ? null : newNumber,
    }
  })
  return { lines, isComplete }
}
