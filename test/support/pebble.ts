/**
 * Pebble, the test server of the ACME protocol (RFC 8555), from Debian's package. It asks a test's DNS server, rejects
 * one nonce in five, as a busy authority does, and connects to the ports that the test names instead of 80 and 443.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { join } from 'node:path'
import { createAuthority } from './certificate.ts'
import { freePort } from './free-ports.ts'
import { until } from './until.ts'

export interface Pebble {
  /** For ACME_DIRECTORY. */
  readonly directory: string
  /** The authority of Pebble's own https, for EXTRA_CA_FILE. */
  readonly caFile: string
  /** The root of the certificates that it issues, in PEM. */
  root(): Promise<string>
  stop(): Promise<void>
}

export interface PebblePorts {
  readonly http: number
  readonly tls: number
  /** Its own address; loopback by default. */
  readonly host?: string
}

export function hasPebble(): boolean {
  return spawnSync('pebble', ['-h'], { stdio: 'ignore' }).error === undefined
}

export async function startPebble(dnsServer: string, { http, tls, host = '127.0.0.1' }: PebblePorts): Promise<Pebble> {
  const dir = mkdtempSync('/tmp/mailstead-test-pebble-')
  const authority = await createAuthority()
  const { key, cert } = await authority.issue([host])
  const [port, management] = await Promise.all([freePort(), freePort()])
  const config = {
    pebble: {
      listenAddress: `${host}:${port}`,
      managementListenAddress: `${host}:${management}`,
      certificate: join(dir, 'pebble.pem'),
      privateKey: join(dir, 'pebble.key'),
      httpPort: http,
      tlsPort: tls,
      ocspResponderURL: '',
      externalAccountBindingRequired: false,
    },
  }
  const caFile = join(dir, 'ca.pem')
  const files = {
    'pebble.pem': cert,
    'pebble.key': key,
    'ca.pem': authority.cert,
    'pebble.json': JSON.stringify(config),
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text)
  const child = spawn('pebble', ['-config', join(dir, 'pebble.json'), '-dnsserver', dnsServer], {
    stdio: 'ignore',
    env: { ...process.env, PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '20' },
  })
  const end = (): void => void child.kill('SIGKILL')
  process.once('exit', end)
  const directory = `https://${host}:${port}/dir`
  await until(async () => (await fetchText(directory, authority.cert)) !== null)
  return {
    directory,
    caFile,
    root: async () => (await fetchText(`https://${host}:${management}/roots/0`, authority.cert)) ?? '',
    stop: async () => {
      process.off('exit', end)
      if (child.exitCode === null) {
        const ended = once(child, 'exit')
        end()
        await ended
      }
      rmSync(dir, { recursive: true })
    },
  }
}

/** Null while it does not answer. */
async function fetchText(url: string, ca: string): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>()
  get(url, { ca }, (response) => {
    let text = ''
    response.setEncoding('utf8')
    response.on('data', (chunk: string) => {
      text += chunk
    })
    response.once('end', () => resolve(text))
  }).once('error', () => resolve(null))
  return promise
}
