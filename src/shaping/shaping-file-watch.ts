/**
 * The shaping file in force. It is read at the start, where an invalid file is an error that lists every problem, and
 * again whenever it changes. A change that is invalid is logged, and the previous rules stay in force, so a typing
 * error stops no mail.
 */
import { fileURLToPath } from 'node:url'
import { type Config, ConfigError } from '#config/load.ts'
import { readSettingText, settingFileState } from '#config/setting-file.ts'
import type { Log } from '#src/platform/log.ts'
import { readShaping, type ShapingProblem, type Shaping } from './shaping-file.ts'
import { lintShaping } from './shaping-lint.ts'

/** Reading the modification time costs almost nothing. */
const POLL_MS = 1000
const DEFAULT_FILE = fileURLToPath(new URL('../../config/shaping.yaml', import.meta.url))

export interface ShapingWatch {
  readonly current: Shaping
  stop(): void
}

export function shapingFileOf({ shapingFile }: Pick<Config, 'shapingFile'>): string {
  return shapingFile ?? DEFAULT_FILE
}

/** @throws ConfigError with every problem if the file is missing or invalid. `onChange` follows each valid change. */
export function watchShaping(
  ctx: { readonly config: Pick<Config, 'shapingFile'>; readonly log: Log },
  onChange: () => void,
): ShapingWatch {
  const file = shapingFileOf(ctx.config)
  // in this order: a change made in between is read again
  let changedAt = settingFileState(file)
  let current = loadFirst(file)
  const reload = (): void => {
    try {
      current = loadShaping(file)
      ctx.log.info({ file }, 'shaping file reloaded')
      onChange()
    } catch (error) {
      ctx.log.error({ err: error, file }, 'shaping file is invalid; the previous rules stay in force')
    }
  }
  const timer = setInterval(() => {
    const found = settingFileState(file)
    if (found === changedAt) return
    changedAt = found
    reload()
  }, POLL_MS)
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
    throw new ConfigError(`SHAPING_FILE is invalid: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
}

/** @throws with every problem, by line. */
export function loadShaping(file: string): Shaping {
  const text = readSettingText(file)
  const read = readShaping(text)
  const problems = lintShaping(read)
  if (read.kind === 'wrong' || problems.length > 0) throw new Error(`${file}: ${problems.map(problemText).join('; ')}`)
  return read.shaping
}

let parsed: { readonly file: string; readonly state: string; readonly shaping: Shaping } | null = null

/**
 * As `loadShaping`, but a file that has not changed is not parsed again: that takes 20 ms and more.
 * @throws with every problem, by line.
 */
export function parsedShaping(file: string): Shaping {
  // in this order: a change made in between is read again
  const state = settingFileState(file)
  if (parsed?.file !== file || parsed.state !== state) parsed = { file, state, shaping: loadShaping(file) }
  return parsed.shaping
}

function problemText({ line, text }: ShapingProblem): string {
  return line === 0 ? text : `line ${line}: ${text}`
}
