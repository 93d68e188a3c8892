/**
 * The Debian package restarts the roles after an upgrade, in the order of decision 064, but not on a database whose
 * migration failed.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { ROLE_ORDER } from '#src/operator/upgrade-plan.ts'

const SCRIPT = readFileSync(join(import.meta.dirname, 'debian/postinst'), 'utf8')
const VERSION = '0.2.0'
const FORWARD = ['worker', 'outbound', 'inbound', 'submission', 'api']

/** The place in ROLE_ORDER of the last role that the unit runs. */
function rankOf(unit: string): number {
  const text = readFileSync(join(import.meta.dirname, 'systemd', `mailstead-${unit}.service`), 'utf8')
  const [, command = '', , roles = command] = /^ExecStart=\S+ (\w+)( --roles (\S+))?$/m.exec(text) ?? []
  return Math.max(...roles.split(',').map((role) => ROLE_ORDER.findIndex((one) => one === role)))
}

describe('an upgrade of the Debian package', () => {
  let dir: string
  beforeEach(() => {
    dir = mkdtempSync('/tmp/mailstead-postinst-')
  })
  afterEach(() => rmSync(dir, { recursive: true }))

  /** What systemd is ordered to do, and what the administrator reads, if the orders that match `failing` fail. */
  function upgrade(from: string, failing: string): { orders: string[]; restarted: string[]; output: string } {
    const calls = join(dir, 'calls')
    const command = (name: string, text: string): void =>
      writeFileSync(join(dir, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
    command('systemctl', `echo "$*" >> ${calls}; case "$*" in ${failing}) exit 1;; esac`)
    command('systemd-sysusers', 'true')
    command('dpkg-query', `echo ${VERSION}`)
    command('dpkg', '[ "$(printf "%s\\n" "$2" "$4" | sort -V | tail -1)" = "$2" ] && [ "$2" != "$4" ]')
    writeFileSync(join(dir, 'master.key'), '')
    const input = SCRIPT.replaceAll('/run/systemd/system', dir).replaceAll('/etc/mailstead', dir)
    const options = { input, encoding: 'utf8', env: { PATH: `${dir}:/usr/bin:/bin` } } as const
    const { status, stderr } = spawnSync('/bin/sh', ['-s', 'configure', from], options)
    assert.strictEqual(status, 0, stderr)
    const orders = readFileSync(calls, 'utf8').trim().split('\n')
    const restarted = orders.flatMap((order) => /^try-restart mailstead-(\w+)\.service$/.exec(order)?.[1] ?? [])
    return { orders, restarted, output: stderr }
  }

  it('has the order of `mailstead upgrade`', () => {
    const ranks = FORWARD.map(rankOf)
    assert.deepEqual(
      ranks,
      ranks.toSorted((a, b) => a - b),
    )
    assert.notInclude(ranks, -1)
    assert.strictEqual(ranks.at(-1), ROLE_ORDER.length - 1)
  })

  const CASES: readonly (readonly [what: string, from: string, failing: string, restarted: readonly string[]])[] = [
    ['restarts the roles after the migration, readers first', '0.1.0', 'none', FORWARD],
    ['restarts them in the opposite order on the way back', '0.3.0', 'none', FORWARD.toReversed()],
    ['restarts them where the migration is not run here', '0.1.0', "'is-enabled '*", FORWARD],
    ['restarts none if the migration failed', '0.1.0', "'restart mailstead-migrate.service'", []],
    ['leaves the roles after one that fails', '0.1.0', '*outbound.service', ['worker', 'outbound']],
  ]
  for (const [what, from, failing, restarted] of CASES)
    it(what, () => assert.deepEqual(upgrade(from, failing).restarted, restarted))

  it('migrates first', () => {
    const { orders } = upgrade('0.1.0', 'none')
    const migrated = orders.indexOf('restart mailstead-migrate.service')
    assert.isAbove(orders.indexOf('try-restart mailstead-worker.service'), migrated)
    assert.isAtLeast(migrated, 0)
  })

  it('names the role that did not start, and what to do', () => {
    const { output } = upgrade('0.1.0', '*outbound.service')
    assert.match(output, /mailstead-outbound did not start.*\n.*journalctl -u mailstead-outbound/)
  })
})
