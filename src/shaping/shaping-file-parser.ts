/**
 * Parses shaping files that come in a request, as hostile text: the YAML parser needs 90 ms for 20 KB, and up to 180 ms
 * if every character is an error. So a thread of its own parses them, one after the other, within limits of time and
 * memory; it ends with the file. If the process ends meanwhile, so does the thread.
 */
import { createParserThread } from '#src/platform/parser-thread.ts'
import { shapingOfValue, type Shaping, type ShapingProblem } from './shaping-file.ts'

/** What the thread returns: patterns cannot be sent between threads, plain values can. */
export interface ParsedFile {
  /** The first ones. */
  readonly problems: readonly ShapingProblem[]
  /** Of all problems. */
  readonly problemCount: number
  /** The file as a plain value; null if it has problems. */
  readonly value: unknown
}

export type CheckedFile =
  | { readonly kind: 'valid'; readonly shaping: Shaping }
  /** With the first problems, and the number of all. */
  | { readonly kind: 'wrong'; readonly problems: readonly ShapingProblem[]; readonly problemCount: number }

const THREAD = new URL('./shaping-file-parser-thread.ts', import.meta.url)
/** A valid file of 256 KB takes 2 s. */
const TIMEOUT_MS = 10_000
const MEMORY_MB = 256
const TOO_LARGE: ParsedFile = {
  problems: [{ line: 0, text: 'takes too much time or memory to parse: make the file smaller' }],
  problemCount: 1,
  value: null,
}

/** A response lists no more. A file can have one in each character. */
export const MAX_PROBLEMS = 100

let last: Promise<unknown> = Promise.resolve()

/**
 * @param text YAML
 * @throws if the thread cannot start
 */
export function checkShapingFile(text: string): Promise<CheckedFile> {
  const checked = last.then(() => parse(text))
  last = checked.catch(() => null)
  return checked
}

async function parse(text: string): Promise<CheckedFile> {
  const thread = createParserThread<ParsedFile, string>({ file: THREAD, timeoutMs: TIMEOUT_MS, memoryMb: MEMORY_MB })
  try {
    const [parsed] = await thread.parse([text])
    const { value, ...wrong } = parsed ?? TOO_LARGE
    return wrong.problemCount === 0 ? { kind: 'valid', shaping: shapingOfValue(value) } : { kind: 'wrong', ...wrong }
  } finally {
    await thread.stop()
  }
}
