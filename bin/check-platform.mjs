/**
 * What `npm start` checks first: whether this system can run the embedded PostgreSQL and Redis. It is plain JavaScript
 * without dependencies, because it runs before any are installed, on every system on which npm runs. It prints nothing
 * if all is well; otherwise it says what is missing and where to go, and exits with 1.
 */
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { pathToFileURL } from 'node:url'

const INSTEAD =
  'Run everything in containers (docker compose up -d; the file is compose.yaml), ' +
  'as docs/guides/installing.md describes'

/**
 * Why `npm start` cannot work here; null if it can. `isInstalled` says whether a program is on PATH.
 * @param {{ platform: string, env: Record<string, string | undefined>, isInstalled: (name: string) => boolean }} system
 * @returns {string | null}
 */
export function platformProblem({ platform, env, isInstalled }) {
  if (platform === 'win32') return `Mailstead does not run on Windows itself. ${INSTEAD}, or use WSL.`
  if (platform === 'linux') return null // packages exist, or the start names what to install
  const missing = [
    ...(env.DATABASE_URL || env.DATABASE_URL_FILE || isInstalled('initdb') ? [] : ['PostgreSQL']),
    ...(env.REDIS_URL || env.REDIS_URL_FILE || isInstalled('redis-server') || isInstalled('valkey-server')
      ? []
      : ['Redis']),
  ]
  if (missing.length === 0) return null
  const name = platform === 'darwin' ? 'macOS' : platform
  return (
    `Mailstead has no embedded ${missing.join(' and no embedded ')} for ${name}. ` +
    `${INSTEAD}, or install what is missing, or set DATABASE_URL and REDIS_URL to servers of your own.`
  )
}

function isOnPath(name) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => folder !== '' && existsSync(join(folder, name)))
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const problem = platformProblem({ platform: process.platform, env: process.env, isInstalled: isOnPath })
  if (problem !== null) {
    process.stderr.write(`mailstead: ${problem}\n`)
    process.exitCode = 1
  }
}
