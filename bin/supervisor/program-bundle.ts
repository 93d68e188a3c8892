/**
 * Prepares the code of the roles while the stores start, in separate processes: bundles it (bin/build.mjs) if the
 * sources have changed, and compiles it, unless the cache of compiled code notes that it has this bundle. Otherwise
 * each role would compile it after an installation, all at the same time, and keep the memory.
 *
 * A package contains the bundle and not the program that makes it. Without a bundle the roles run from their sources,
 * more slowly, so a failure does not stop the start. Errors of the code are ignored here: the roles load the same code
 * and report them.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { utimes, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { environment } from '#config/environment.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const BUILD = join(ROOT, 'bin/build.mjs')
/** These paths are relative to the root, because some roles reach it by another one (privileges.ts). */
const SOURCE = 'bin/mailstead.ts'
const MARK_MS = 3_600_000
const OF_PACKAGE = 'bundle/program/mailstead.js'

/** Resolves when the code is ready: to the program to run, relative to the root of the checkout or package. */
export async function prepareProgram(build = BUILD): Promise<string> {
  const program = await bundleProgram(build)
  markAsUsed(program)
  const stamp = compiledStamp(program)
  if (stamp !== null && existsSync(stamp)) return program
  const child = spawn(process.execPath, [...process.execArgv, join(ROOT, program), 'compile'], { stdio: 'ignore' })
  const [code] = (await once(child, 'exit').catch(() => [null])) as [number | null]
  if (stamp !== null && code === 0) await writeFile(stamp, '').catch(() => undefined)
  return program
}

/** A build removes bundles that were not used for days, and this one loads code and restarts roles until the end. */
function markAsUsed(program: string): void {
  const mark = (): Promise<void> => utimes(dirname(join(ROOT, program)), new Date(), new Date()).catch(() => undefined)
  setInterval(() => void mark(), MARK_MS).unref()
}

/** A file in the cache of compiled code which says that a bundle is there. Null for code that has no digest. */
function compiledStamp(program: string): string | null {
  const cache = environment['NODE_COMPILE_CACHE']
  const digest = basename(dirname(program))
  return cache === undefined || !/^[\da-f]{16}$/.test(digest) ? null : join(cache, `${digest}-${process.version}`)
}

/** The program, relative to the root: the bundle, which is built if it is not current, or the source. */
export async function bundleProgram(build: string): Promise<string> {
  if (!existsSync(build)) return existsSync(join(ROOT, OF_PACKAGE)) ? OF_PACKAGE : SOURCE
  const child = spawn(process.execPath, [build], { stdio: ['ignore', 'pipe', 'ignore'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const [code] = (await once(child, 'close').catch(() => [null])) as [number | null]
  return code === 0 ? relative(ROOT, output.trim()) : SOURCE
}

/** The program that this process runs, relative to the root: its bundle, or the source. */
export function ownProgram(file = process.argv[1] ?? ''): string {
  return basename(file) === basename(OF_PACKAGE) ? file.split('/').slice(-3).join('/') : SOURCE
}
