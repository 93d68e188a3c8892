/** The Debian package restarts the roles after an upgrade, but not on a database whose migration failed. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'

const SCRIPT = readFileSync(join(import.meta.dirname, 'debian/postinst'), 'utf8')
const RESTART = 'try-restart mailstead-*.service'

describe('an upgrade of the Debian package', () => {
  let dir: string
  beforeEach(() => {
    dir = mkdtempSync('/tmp/mailstead-postinst-')
  })
  afterEach(() => rmSync(dir, { recursive: true }))

  /** The orders that systemd gets, if those that match `failing` fail. */
  function upgrade(failing: string): string[] {
    const calls = join(dir, 'calls')
    const command = (name: string, text: string): void =>
      writeFileSync(join(dir, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
    command('systemctl', `echo "$*" >> ${calls}; case "$*" in ${failing}) exit 1;; esac`)
    command('systemd-sysusers', 'true')
    writeFileSync(join(dir, 'master.key'), '')
    const script = SCRIPT.replaceAll('/run/systemd/system', dir).replaceAll('/etc/mailstead', dir)
    execFileSync('/bin/sh', ['-s', 'configure', '0.0.9'], {
      input: script,
      env: { PATH: `${dir}:/usr/bin:/bin` },
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    return readFileSync(calls, 'utf8').trim().split('\n')
  }

  const CASES: readonly (readonly [what: string, failing: string, restarts: boolean])[] = [
    ['restarts the roles after the migration', 'none', true],
    ['does not restart them if the migration failed', "'restart mailstead-migrate.service'", false],
    ['restarts them where the migration is not run here', "'is-enabled '*", true],
  ]
  for (const [what, failing, restarts] of CASES)
    it(what, () => assert.strictEqual(upgrade(failing).includes(RESTART), restarts))
})
