/** An upgrade of the Debian package leaves port 3000 as open as it was; a new installation does not open it. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'

const SCRIPT = readFileSync(join(import.meta.dirname, 'debian/preinst'), 'utf8')
const UNIT = 'mailstead-api.socket'

describe('the socket of port 3000, when the Debian package is unpacked', () => {
  let dir: string
  beforeEach(() => {
    dir = mkdtempSync('/tmp/mailstead-preinst-')
  })
  afterEach(() => rmSync(dir, { recursive: true }))

  /** @returns the file that keeps the address, if there is one, and what the administrator reads */
  function unpack(action: string, listen: string | null): { kept: string | null; output: string } {
    if (listen !== null) writeFileSync(join(dir, UNIT), `[Socket]\nListenStream=${listen}\n`)
    const input = SCRIPT.replaceAll('/usr/lib/systemd/system', dir).replaceAll('/etc/systemd/system', dir)
    const { status, stderr } = spawnSync('/bin/sh', ['-s', action], { input, encoding: 'utf8' })
    assert.strictEqual(status, 0, stderr)
    const file = join(dir, `${UNIT}.d/address.conf`)
    return { kept: existsSync(file) ? readFileSync(file, 'utf8') : null, output: stderr }
  }

  it('stays open to other machines if it was, and the administrator reads how to close it', () => {
    const { kept, output } = unpack('upgrade', '3000')
    assert.match(String(kept), /^\[Socket\]\nListenStream=\nListenStream=3000\n$/m)
    assert.include(output, 'address.conf says how to close it')
  })

  it('is for the machine only in a new installation, and after an upgrade of such a one', () => {
    assert.deepEqual(unpack('install', null), { kept: null, output: '' })
    assert.deepEqual(unpack('upgrade', '127.0.0.1:3000'), { kept: null, output: '' })
  })

  it('keeps an address of the administrator', () => {
    mkdirSync(join(dir, `${UNIT}.d`))
    assert.deepEqual(unpack('upgrade', '3000'), { kept: null, output: '' })
  })
})
