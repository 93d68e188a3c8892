/**
 * Installs Haraka from the npm registry into `bench/haraka`: the first time, and
 * again when the lock file is newer. The repository contains only its package.json
 * and lock file.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { UserError } from '#bin/supervisor/user-error.ts'

const PACKAGE_DIR = fileURLToPath(new URL('../haraka', import.meta.url))
/** The folder of Haraka's files. */
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

/** Installs Haraka if necessary and returns its version. Throws UserError when the registry cannot be reached. */
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
  return (
    existsSync(join(HARAKA_DIR, 'package.json')) && installed !== undefined && installed.mtimeMs >= required.mtimeMs
  )
}

async function runNpm(cache: string | null): Promise<void> {
  // `npm run` sets variables for its child processes that would point this npm to the wrong folder.
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
  if (code !== 0) throw UserError.of(`cannot install Haraka (npm ci in bench/haraka): ${errorOutput.trim()}`)
}

/** The npm that started this process, or else the one on PATH. */
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
