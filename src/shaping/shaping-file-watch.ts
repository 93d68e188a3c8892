/**
 * The shaping file in force: read at the start, where a wrong file is refused with everything that is wrong with it, and again whenever it
 * changes. A change that is wrong is told in the log and the rules before it stay in force: a slip of the pen stops no mail.
 */
import { readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Config, ConfigError } from '#config/load.ts'
import type { Log } from '#src/platform/log.ts'
import { readShaping, type Problem, type Shaping } from './shaping-file.ts'
import { lintShaping } from './shaping-lint.ts'

/** A look at the time of its change costs nothing. */
const LOOK_MS = 1000
const OWN_FILE = fileURLToPath(new URL('../../config/shaping.yaml', import.meta.url))

export interface ShapingWatch {
  readonly current: Shaping
  stop(): void
}

export function shapingFileOf({ shapingFile }: Pick<Config, 'shapingFile'>): string {
  return shapingFile ?? OWN_FILE
}

/** @throws ConfigError when the file is wrong or not there: it says all that is. `onChange` follows each change that holds. */
export function watchShaping(
  ctx: { readonly config: Pick<Config, 'shapingFile'>; readonly log: Log },
  onChange: () => void,
): ShapingWatch {
  const file = shapingFileOf(ctx.config)
  // in this order: what is written meanwhile is read again
  let changedAt = changeTime(file)
  let current = loadFirst(file)
  const reload = (): void => {
    try {
      current = loadShaping(file)
      ctx.log.info({ file }, 'the shaping file was read again')
      onChange()
    } catch (error) {
      ctx.log.error({ err: error, file }, 'the shaping file cannot be used; the rules before the change stay in force')
    }
  }
  const timer = setInterval(() => {
    const found = changeTime(file)
    if (found === changedAt) return
    changedAt = found
    reload()
  }, LOOK_MS)
  return {
    get current() {
      return current
    },
    stop: () => clearInterval(timer),
  }
}

function loadFirst(file: string): Shaping {
  try {
    return loadShaping(file)
  } catch (error) {
    throw new ConfigError(`SHAPING_FILE cannot be used: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
}

/** @throws with every problem, by line. */
export function loadShaping(file: string): Shaping {
  const text = readFileSync(file, 'utf8')
  const read = readShaping(text)
  const problems = lintShaping(text)
  if (read.kind === 'wrong' || problems.length > 0) throw new Error(`${file}: ${problems.map(problemText).join('; ')}`)
  return read.shaping
}

function problemText({ line, text }: Problem): string {
  return line === 0 ? text : `line ${line}: ${text}`
}

/** Null while it is not there, as in the moment in which an editor replaces it. */
function changeTime(file: string): number | null {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? null
}
