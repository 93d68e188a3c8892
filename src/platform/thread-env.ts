/**
 * The environment of a worker thread that processes untrusted input. It contains no settings and no secrets, only the
 * path of the compile cache: with it a thread starts in a third of the time and needs 16 MB less (see bin/mailstead).
 */
import { environment } from '#config/environment.ts'

const { NODE_COMPILE_CACHE } = environment

/** The options of Node for such a thread: how the process reaches its code (bin/supervisor/privileges.ts). */
export const THREAD_OPTIONS: readonly string[] = process.execArgv.filter((option) =>
  option.startsWith('--preserve-symlinks'),
)

export const THREAD_ENV: Readonly<Record<string, string>> =
  NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }
