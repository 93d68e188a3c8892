/**
 * A real Prometheus (Debian's package `prometheus`) that scrapes one address each second, with the alerts of
 * packaging/monitoring. Its data is in a temporary folder, which `stop` removes.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-ports.ts'

const ALERTS = new URL('../../packaging/monitoring/alerts.yml', import.meta.url)

export interface Prometheus {
  /** The answer as text; empty before it listens. */
  get(path: string): Promise<string>
  stop(): Promise<void>
}

export function isPrometheusInstalled(): boolean {
  return spawnSync('prometheus', ['--version']).error === undefined
}

/** `target` is host and port of an api. */
export async function startPrometheus(target: string): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'mailstead-prometheus-'))
  const address = `127.0.0.1:${await freePort()}`
  copyFileSync(ALERTS, join(folder, 'alerts.yml'))
  writeFileSync(join(folder, 'prometheus.yml'), configuration(target))
  const args = ['--config.file=prometheus.yml', '--storage.tsdb.path=data', `--web.listen-address=${address}`]
  const child = spawn('prometheus', args, { cwd: folder, stdio: 'ignore' })
  await once(child, 'spawn')
  return {
    get: (path) =>
      fetch(`http://${address}${path}`).then(
        (response) => response.text(),
        () => '',
      ),
    stop: async () => {
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
      rmSync(folder, { recursive: true })
    },
  }
}

function configuration(target: string): string {
  return JSON.stringify({
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: ['alerts.yml'],
    scrape_configs: [{ job_name: 'mailstead', static_configs: [{ targets: [target] }] }],
  })
}
