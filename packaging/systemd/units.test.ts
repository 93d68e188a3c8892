/**
 * The units: systemd accepts them, and their sandbox is as good as docs/guides/installing.md states. Skipped where
 * there is no systemd-analyze. What does not need it: each role has a unit, a user, and names that the program knows.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { SETTINGS } from '#config/schema.ts'
import { KEY_ROLES } from '#src/crypto/purposes.ts'

const FOLDER = import.meta.dirname
const ROOT = join(FOLDER, '../..')
const files = readdirSync(FOLDER)
const services = files.filter((file) => file.endsWith('.service'))
const sockets = files.filter((file) => file.endsWith('.socket'))
/** The package does not enable these: a proxy may have their ports. */
const OPTIONAL: Readonly<Record<string, string>> = { HTTPS_PORT: '443', HTTP_REDIRECT_PORT: '80' }
/** Plain HTTP, which nobody but this machine may reach. */
const LOCAL: Readonly<Record<string, string>> = { HTTP_PORT: '127.0.0.1:3000' }
const roles = services.filter((file) => file !== 'mailstead-migrate.service')
/** What `systemd-analyze security` may report at most, from 0 (safe) to 10. */
const MAX_EXPOSURE = 2

function textOf(file: string): string {
  return readFileSync(join(FOLDER, file), 'utf8')
}

function valuesOf(file: string, name: string): string[] {
  return [...textOf(file).matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value)
}

describe('the units of systemd', () => {
  it('run every role once', () => {
    const run = roles.flatMap((file) => {
      const command = valuesOf(file, 'ExecStart')[0] ?? ''
      return (/--roles (\S+)/.exec(command)?.[1] ?? command.split(' ')[1] ?? '').split(',')
    })
    assert.sameMembers(run, [...KEY_ROLES])
  })

  it('give each role a user of its own, which the package creates', () => {
    const users = roles.flatMap((file) => valuesOf(file, 'User'))
    assert.strictEqual(new Set(users).size, roles.length)
    for (const user of users) assert.match(textOf('mailstead.sysusers'), new RegExp(`^u ${user} `, 'm'))
  })

  it('open the ports of settings, each for a service that starts the socket unless it is optional', () => {
    const ports = new Map(Object.values(SETTINGS).map((row) => [row.env, row.default]))
    for (const file of sockets) {
      const [name = '', port = '', service = ''] = ['FileDescriptorName', 'ListenStream', 'Service'].map(
        (key) => valuesOf(file, key)[0] ?? '',
      )
      assert.strictEqual(port, OPTIONAL[name] ?? LOCAL[name] ?? ports.get(name), file)
      const started = valuesOf(service, 'Sockets').join(' ').split(' ')
      assert.strictEqual(started.includes(file), OPTIONAL[name] === undefined, file)
    }
  })

  it('stop later than the role, which needs 30 s at most', () => {
    for (const file of roles) assert.isAbove(Number(valuesOf(file, 'TimeoutStopSec')[0]), 30, file)
  })

  describe('checked by systemd-analyze', () => {
    let units: string
    before(function () {
      if (spawnSync('systemd-analyze', ['--version']).status !== 0) this.skip()
      units = mkdtempSync('/tmp/mailstead-units-')
      cpSync(FOLDER, units, { recursive: true })
      // systemd-analyze checks that the program exists
      for (const file of services) {
        const text = textOf(file).replaceAll('/usr/lib/mailstead/', `${ROOT}/`)
        writeFileSync(join(units, file), text)
      }
    })
    after(() => units && rmSync(units, { recursive: true }))

    const analyze = (...args: string[]): { status: number | null; output: string } => {
      const { status, stdout, stderr } = spawnSync('systemd-analyze', args, {
        encoding: 'utf8',
        env: { PATH: process.env['PATH'], SYSTEMD_UNIT_PATH: `${units}:/lib/systemd/system` },
      })
      return { status, output: stdout + stderr }
    }

    it('are valid', () => {
      const { status, output } = analyze(
        'verify',
        ...[...services, ...sockets, 'mailstead.target'].map((file) => join(units, file)),
      )
      const ours = output.split('\n').filter((line) => line.includes('mailstead'))
      assert.deepEqual({ status, ours }, { status: 0, ours: [] })
    })

    for (const file of services) {
      it(`${file} is exposed by ${MAX_EXPOSURE} of 10 at most`, () => {
        const limit = `--threshold=${MAX_EXPOSURE * 10}`
        const { status, output } = analyze('security', '--offline=true', '--no-pager', limit, join(units, file))
        assert.strictEqual(status, 0, output)
      })
    }
  })
})
