/**
 * Haraka with DKIM: an SMTP server in Node that queues on disk, without fsync
 * before its reply. Errors are logged only, and outbound mail goes without TLS. Two
 * configurations differ in how many deliveries run at the same time.
 */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Contender } from '#bench/harness/contender.ts'
import type { ProcessManager, StartedProcess } from '#bench/harness/process-manager.ts'
import { type DkimKey, SELECTOR, SENDER_DOMAIN } from '#bench/harness/dkim.ts'
import { expectedFromSource, sendBySmtp } from '#bench/harness/smtp-load.ts'
import { freePort, sendsGreeting, waitUntil } from '#bench/harness/wait.ts'
import { HARAKA_DIR, installHaraka } from './haraka-package.ts'

const WORKERS = 2
/** Concurrent deliveries of each worker. */
const CONCURRENCY = [100, 20]

/** Throws UserError when Haraka has to be installed and the registry cannot be reached. */
export async function openHarakas(
  manager: ProcessManager,
  key: DkimKey,
  say: (line: string) => void,
): Promise<Contender[]> {
  const version = await installHaraka(say)
  return CONCURRENCY.map((concurrency) => openHaraka(manager, { key, version, concurrency }))
}

interface Configuration {
  readonly key: DkimKey
  readonly version: string
  readonly concurrency: number
}

function openHaraka(manager: ProcessManager, { key, version, concurrency }: Configuration): Contender {
  let server: StartedProcess | null = null
  let port = 0
  return {
    name: 'Haraka',
    describe: `Haraka ${version}, ${WORKERS} workers with ${concurrency} deliveries, DKIM RSA-2048`,
    dkimRecords: { [`${SELECTOR}._domainkey.${SENDER_DOMAIN}`]: key.record },
    start: async (sinkPort) => {
      port = await freePort()
      const dir = join(manager.dir, 'haraka')
      configure(dir, { port, sinkPort, key, concurrency })
      server = await manager.start({
        name: 'haraka',
        file: process.execPath,
        args: [join(HARAKA_DIR, 'bin/haraka'), '-c', dir],
      })
      await waitUntil('Haraka accepting connections', () => sendsGreeting(port), server)
      return { haraka: server.pid }
    },
    expect: expectedFromSource,
    send: ({ count }, mix) => sendBySmtp(port, count, mix),
    stop: async () => server?.stop(),
  }
}

interface Setup {
  readonly port: number
  readonly sinkPort: number
  readonly key: DkimKey
  readonly concurrency: number
}

function configure(dir: string, { port, sinkPort, key, concurrency }: Setup): void {
  const files: Readonly<Record<string, string>> = {
    'config/smtp.ini': `listen=127.0.0.1:${port}\nnodes=${WORKERS}\n`,
    'config/me': 'haraka.bench.example\n',
    'config/log.ini': '[main]\nlevel=error\n',
    'config/outbound.ini': `concurrency_max=${concurrency}\nenable_tls=false\n`,
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
  // `haraka --install` copies this file, too: without its defaults Haraka serves no connection.
  copyFileSync(join(HARAKA_DIR, 'config/connection.ini'), join(dir, 'config/connection.ini'))
}

/** Accepts mail from loopback without AUTH and routes all of it to the sink. */
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
