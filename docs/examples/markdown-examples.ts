/**
 * The examples of a Markdown page, by the convention of docs/examples/README.md:
 *
 * - A block `sh` is run. A block `json` after it is its answer, of which the names are compared.
 * - In a block `console`, the lines that begin with `$ ` are run. The others are their output: each must occur, where
 *   `…`, ids, numbers and times stand for any value.
 * - A comment `<!-- file: NAME -->` above a block stores the block as a file.
 * - A comment `<!-- not run: WHY -->` above a block leaves it out.
 */
export interface Example {
  /** The line of the block in the page. */
  readonly line: number
  readonly kind: 'run' | 'file'
  /** The commands, or the content of the file. */
  readonly text: string
  /** The name of the file. */
  readonly file: string | null
  /** The names that the printed JSON must have. */
  readonly names: readonly string[]
  /** What the output must match. */
  readonly patterns: readonly RegExp[]
}

interface Block {
  readonly line: number
  readonly language: string
  readonly text: string
  /** The comment above the block. */
  readonly note: string
  /** Only blank lines are between this block and the one before. */
  readonly isAdjacent: boolean
}

export function readExamples(markdown: string): Example[] {
  const examples: Example[] = []
  for (const block of readBlocks(markdown)) {
    const [, note = '', value = ''] = /^(file|not run): (.+)$/.exec(block.note) ?? []
    const last = examples.at(-1)
    if (note === 'not run') continue
    if (note === 'file') examples.push(exampleOf(block, { kind: 'file', file: value }))
    else if (block.language === 'sh') examples.push(exampleOf(block))
    else if (block.language === 'console') examples.push(...readConsole(block))
    else if (block.language === 'json' && block.isAdjacent && last?.kind === 'run')
      examples[examples.length - 1] = { ...last, names: namesOf(block.text) }
  }
  return examples
}

/** A block whose kind nobody has stated, such as a console session without its language. */
export function findUndeclared(markdown: string): number[] {
  return readBlocks(markdown)
    .filter(
      ({ language, text, note }) => note === '' && language === '' && /^(?:\$ |bin\/mailstead |curl )/m.test(text),
    )
    .map(({ line }) => line)
}

function readBlocks(markdown: string): Block[] {
  const lines = markdown.split('\n')
  const blocks: Block[] = []
  let previousEnd = 0
  for (let i = 0; i < lines.length; i++) {
    const fence = /^( *)```(\w*)$/.exec(lines[i] ?? '')
    if (fence === null) continue
    const [, indent = '', language = ''] = fence
    const end = lines.findIndex((line, at) => at > i && line === `${indent}\`\`\``)
    const text = lines.slice(i + 1, end).map((line) => line.slice(indent.length))
    const note = /^<!-- (.+) -->$/.exec((lines[i - 1] ?? '').trim())?.[1] ?? ''
    const isAdjacent = lines.slice(previousEnd + 1, i).every((line) => line.trim() === '')
    blocks.push({ line: i + 1, language, text: text.join('\n'), note, isAdjacent })
    i = end
    previousEnd = end
  }
  return blocks
}

function exampleOf({ line, text }: Block, given: Partial<Example> = {}): Example {
  return { line, kind: 'run', text, file: null, names: [], patterns: [], ...given }
}

/** One example for each command of the session, with its output. */
function readConsole(block: Block): Example[] {
  return block.text
    .split(/^\$ /m)
    .slice(1)
    .map((session) => {
      const [command = '', ...output] = session.split('\n')
      const patterns = output.filter((line) => line.trim() !== '').map(patternOf)
      return exampleOf(block, { text: command, patterns })
    })
}

/** What differs from run to run: `…`, and words with a digit, such as ids and times. Spaces stand for any spaces. */
const VARYING = /…|[\w.:+-]*\d[\w.:+-]*|\s+/g

function patternOf(line: string): RegExp {
  const escape = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
  let [pattern, at] = ['', 0]
  for (const found of line.trim().matchAll(VARYING)) {
    pattern += escape(line.trim().slice(at, found.index))
    pattern += /^\s/.test(found[0]) ? String.raw`\s+` : found[0] === '…' ? '.*?' : String.raw`[\w.:+-]+`
    at = found.index + found[0].length
  }
  return new RegExp(pattern + escape(line.trim().slice(at)))
}

/** The names in a JSON text, which may have `…` where an answer has more. */
function namesOf(text: string): string[] {
  return [...new Set([...text.matchAll(/"([\w-]+)":/g)].map(([, name = '']) => name))]
}
