/**
 * Prepares the code of the roles while the stores start, in separate processes: bundles it (bin/build.mjs) if the
 * sources have changed, and compiles it, unless the cache of compiled code notes that it has this bundle. Otherwise
 * each role would compile it after an installation, all at the same time, and keep the memory.
 *
 * A package contains the bundle and not the program that makes it. Without a bundle the roles run from their sources,
 * more slowly, so a failure is reported and does not stop the start. Errors of the code are ignored here: the roles
 * load the same code and report them.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { environment } from '#config/environment.ts'
import { BUILD_ENVIRONMENT } from './build-environment.ts'
import { noteUser } from './bundle-users.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const BUILD = join(ROOT, 'bin/build.mjs')
/** These paths are relative to the root, because some roles reach it by another one (privileges.ts). */
const SOURCE = 'bin/mailstead.ts'
const RENEW_MS = 3_600_000
const OF_PACKAGE = 'bundle/program/mailstead.js'

/** The end of its output explains a failure. */
const MAX_OUTPUT = 2000
/** Another process may remove a bundle before this one has noted that it uses it. */
const MAX_BUILDS = 3

export interface ProgramCode {
  /** What to run, relative to the root of the checkout or package: the bundle, or the source. */
  readonly program: string
  /** Lines for the operator, if the bundle could not be built. */
  readonly failure: string | null
}

/** Resolves when the code is ready. */
export async function prepareProgram(build = BUILD): Promise<ProgramCode> {
  const code = await bundleProgram(build)
  setInterval(() => noteProgramUser(code.program), RENEW_MS).unref()
  await compileProgram(code.program)
  return code
}

async function compileProgram(program: string): Promise<void> {
  const stamp = compiledStamp(program)
  if (stamp !== null && existsSync(stamp)) return
  const child = spawn(process.execPath, [...process.execArgv, join(ROOT, program), 'compile'], { stdio: 'ignore' })
  const [code] = (await once(child, 'exit').catch(() => [null])) as [number | null]
  if (stamp !== null && code === 0) await writeFile(stamp, '').catch(() => undefined)
}

/** Keeps the bundle while the process runs. @returns whether it is there; sources always are */
export function noteProgramUser(program: string, pid = process.pid): boolean {
  return program === SOURCE || program === OF_PACKAGE || noteUser(dirname(join(ROOT, program)), pid)
}

/** A file in the cache of compiled code which says that a bundle is there. Null for code that has no digest. */
function compiledStamp(program: string): string | null {
  const cache = environment['NODE_COMPILE_CACHE']
  const digest = basename(dirname(program))
  return cache === undefined || !/^[\da-f]{16}$/.test(digest) ? null : join(cache, `${digest}-${process.version}`)
}

/** The bundle, which is built if it is not current, and noted as used by this process. */
export async function bundleProgram(build: string): Promise<ProgramCode> {
  if (!existsSync(build)) return { program: OF_PACKAGE, failure: null }
  for (let builds = 1; ; builds += 1) {
    const built = await runBuild(build)
    if ('error' in built) return { program: SOURCE, failure: describeFailure(built.error) }
    if (noteProgramUser(built.program)) return { program: built.program, failure: null }
    if (builds === MAX_BUILDS) return { program: SOURCE, failure: describeFailure('Another process removed it.') }
  }
}

async function runBuild(build: string): Promise<{ readonly program: string } | { readonly error: string }> {
  const child = spawn(process.execPath, [build], { stdio: ['ignore', 'pipe', 'pipe'], env: BUILD_ENVIRONMENT })
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-MAX_OUTPUT)))
  const [code] = (await once(child, 'close').catch((error: unknown) => [String(error)])) as [number | string | null]
  if (code === 0) return { program: relative(ROOT, output.trim()) }
  return { error: errors.trim() === '' ? `It ended with ${code ?? 'a signal'}.` : errors.trim() }
}

function describeFailure(error: string): string {
  return (
    'warning: The roles could not be bundled. They run from their sources, start more slowly and need more memory.\n' +
    'Correct the error below, then start again. `npm ci --ignore-scripts` installs missing packages.\n' +
    error
  )
}

/** The program that this process runs, relative to the root: its bundle, or the source. */
export function ownProgram(file = process.argv[1] ?? ''): string {
  return basename(file) === basename(OF_PACKAGE) ? file.split('/').slice(-3).join('/') : SOURCE
}
