/**
 * Haraka with DKIM: an SMTP server in Node that queues on disk, without fsync
 * before its reply. Installed from the npm registry into `bench/haraka` the
 * first time, run with two workers, quiet, from a configuration of its own.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Trouble } from '#bin/supervisor/trouble.ts'
import type { Contender } from '#bench/contender.ts'
import type { Crew, Started } from '#bench/crew.ts'
import { type DkimKey, SELECTOR, SENDER_DOMAIN } from '#bench/dkim.ts'
import { expectFromSource, sendBySmtp } from '#bench/smtp-load.ts'
import { freePort, greets, waitUntil } from '#bench/wait.ts'

const HOME = fileURLToPath(new URL('../haraka', import.meta.url))
const PACKAGE = join(HOME, 'node_modules/Haraka/package.json')
const WORKERS = 2

/** Installs Haraka where that was not done yet. Throws Trouble when the registry cannot be reached. */
export async function openHaraka(crew: Crew, key: DkimKey, say: (line: string) => void): Promise<Contender> {
  if (!isInstalled()) {
    say('Installing Haraka into bench/haraka (the first time only)...')
    await install()
  }
  const { version } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string }
  let server: Started | null = null
  let port = 0
  return {
    name: 'Haraka',
    describe: `Haraka ${version}, ${WORKERS} workers, DKIM RSA-2048`,
    dkimRecords: { [`${SELECTOR}._domainkey.${SENDER_DOMAIN}`]: key.record },
    start: async (sinkPort) => {
      port = await freePort()
      const dir = join(crew.dir, 'haraka')
      configure(dir, { port, sinkPort, key })
      server = await crew.start({ name: 'haraka', file: process.execPath, args: [join(HOME, 'node_modules/Haraka/bin/haraka'), '-c', dir] })
      await waitUntil('Haraka accepting connections', () => greets(port), server)
      return { haraka: server.pid }
    },
    expect: expectFromSource,
    send: ({ count }) => sendBySmtp(port, count),
    stop: async () => server?.stop(),
  }
}

function isInstalled(): boolean {
  const stamp = join(HOME, 'node_modules/.package-lock.json')
  return existsSync(PACKAGE) && existsSync(stamp) && statSync(stamp).mtimeMs >= statSync(join(HOME, 'package-lock.json')).mtimeMs
}

async function install(): Promise<void> {
  // `npm run` tells its children where they are in variables that would lead this npm to the wrong folder.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_(config_(local|global)_prefix|package|lifecycle)/.test(name)))
  const npm = spawn('npm', ['ci', '--prefix', HOME, '--omit=optional', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: HOME, env, stdio: ['ignore', 'ignore', 'pipe'],
  })
  let complaint = ''
  npm.stderr.on('data', (chunk: Buffer) => { complaint += chunk.toString() })
  npm.on('error', (error) => { complaint += error.message })
  const [code] = await once(npm, 'close') as [number | null]
  if (code !== 0) throw new Trouble(`Haraka cannot be installed (npm ci in bench/haraka):\n${complaint.trim()}`)
}

interface Setup { readonly port: number; readonly sinkPort: number; readonly key: DkimKey }

function configure(dir: string, { port, sinkPort, key }: Setup): void {
  const files: Readonly<Record<string, string>> = {
    'config/smtp.ini': `listen=127.0.0.1:${port}\nnodes=${WORKERS}\n`,
    'config/me': 'haraka.bench.example\n',
    'config/log.ini': '[main]\nlevel=warn\n',
    'config/plugins': 'route\ndkim\n',
    'config/dkim.ini': '[sign]\nenabled=true\n[verify]\nenabled=false\n',
    [`config/dkim/${SENDER_DOMAIN}/private`]: key.privatePem,
    [`config/dkim/${SENDER_DOMAIN}/selector`]: `${SELECTOR}\n`,
    'plugins/route.js': routePlugin(sinkPort),
    'queue/.keep': '',
  }
  for (const [name, text] of Object.entries(files)) {
    const file = join(dir, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  // `haraka --install` copies it too: without its defaults no connection is answered.
  copyFileSync(join(HOME, 'node_modules/Haraka/config/connection.ini'), join(dir, 'config/connection.ini'))
}

/** Takes mail from loopback without AUTH and hands all of it to the sink. */
function routePlugin(sinkPort: number): string {
  return `'use strict'
exports.hook_connect = (next, connection) => {
  connection.relaying = true
  next()
}
exports.hook_rcpt = (next) => next(OK)
exports.hook_get_mx = (next) => next(OK, { priority: 0, exchange: '127.0.0.1', port: ${sinkPort} })
`
}
