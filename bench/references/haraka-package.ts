/**
 * Haraka's package: installed from the npm registry into `bench/haraka` the
 * first time, and again when its lock file is newer. Nothing of it is in the
 * repository but package.json and the lock file.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { UserError } from '#bin/supervisor/user-error.ts'

const PACKAGE_DIR = fileURLToPath(new URL('../haraka', import.meta.url))
/** Where Haraka's own files are. */
export const HARAKA_DIR = join(PACKAGE_DIR, 'node_modules/Haraka')

const NPM_OPTIONS = [
  '--omit=optional',
  '--ignore-scripts',
  '--no-audit',
  '--no-fund',
  '--loglevel=error',
  '--fetch-retries=2',
  '--fetch-retry-maxtimeout=10000',
]

/** The version that is there now, installed if need be. Throws UserError when the registry cannot be reached. */
export async function installHaraka(say: (line: string) => void): Promise<string> {
  if (!isInstalled()) {
    say('Installing Haraka into bench/haraka (the first time only)...')
    const cache = isWritable(homedir()) ? null : mkdtempSync(join(tmpdir(), 'mailstead-npm-'))
    try {
      await runNpm(cache)
    } finally {
      if (cache !== null) rmSync(cache, { recursive: true, force: true })
    }
  }
  const { version } = JSON.parse(readFileSync(join(HARAKA_DIR, 'package.json'), 'utf8')) as { version: string }
  return version
}

function isInstalled(): boolean {
  const installed = statSync(join(PACKAGE_DIR, 'node_modules/.package-lock.json'), { throwIfNoEntry: false })
  const required = statSync(join(PACKAGE_DIR, 'package-lock.json'))
  return existsSync(join(HARAKA_DIR, 'package.json')) && installed !== undefined && installed.mtimeMs >= required.mtimeMs
}

async function runNpm(cache: string | null): Promise<void> {
  // `npm run` tells its children where they are in variables that would lead this npm to the wrong folder.
  const isMisleading = /^npm_(config_(local|global)_prefix|package|lifecycle)/
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !isMisleading.test(name)))
  const [program, first] = npmProgram()
  const npm = spawn(program, [...first, 'ci', '--prefix', PACKAGE_DIR, ...NPM_OPTIONS], {
    cwd: PACKAGE_DIR,
    env: { ...env, ...(cache !== null && { npm_config_cache: cache }) },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let errorOutput = ''
  npm.stderr.on('data', (chunk: Buffer) => {
    errorOutput += chunk.toString()
  })
  npm.on('error', (error) => {
    errorOutput += error.message
  })
  const [code] = (await once(npm, 'close')) as [number | null]
  if (code !== 0) throw new UserError(`Haraka cannot be installed (npm ci in bench/haraka): ${errorOutput.trim()}`)
}

/** The npm that started us, when one did, else the one on PATH. */
function npmProgram(): [program: string, first: string[]] {
  const started = process.env['npm_execpath'] ?? ''
  return /npm-cli\.c?js$/.test(started) && existsSync(started) ? [process.execPath, [started]] : ['npm', []]
}

function isWritable(dir: string): boolean {
  try {
    accessSync(dir, constants.W_OK)
    return true
  } catch {
    return false
  }
}
