import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert } from 'chai'
import { changeLine, runZoneCommand } from './zone-command.ts'

const CHANGES = [
  { name: 'a.1.keys.example', value: `v=DKIM1; k=rsa; p=${'x'.repeat(300)}`, attempts: 0 },
  { name: 'b.1.keys.example', value: null, attempts: 0 },
]

const SCRIPT = new URL('../../docs/examples/dkim-zone-nsupdate.sh', import.meta.url).pathname

describe('DKIM_ZONE_COMMAND', () => {
  it('may be the example, which sends one dynamic update', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'nsupdate-'))
    const got = join(folder, 'got')
    writeFileSync(join(folder, 'nsupdate'), `#!/bin/sh\n{ echo "$@"; cat; } > ${got}\n`, { mode: 0o755 })
    const command = `PATH=${folder}:$PATH ${SCRIPT} '192.0.2.53 5353' /etc/zone.key`
    assert.deepEqual(await runZoneCommand(command, CHANGES, 300), { ok: true })
    const lines = readFileSync(got, 'utf8').trim().split('\n')
    rmSync(folder, { recursive: true })
    assert.deepEqual(
      lines.map((line) => line.replaceAll(/x+/g, 'x')),
      [
        '-t 20 -k /etc/zone.key',
        'server 192.0.2.53 5353',
        'update delete a.1.keys.example. TXT',
        'update add a.1.keys.example. 300 TXT "v=DKIM1; k=rsa; p=x" "x"',
        'update delete b.1.keys.example. TXT',
        'send',
      ],
    )
  })

  it('gets a line for each change, in the form of nsupdate', () => {
    const [set, remove] = CHANGES.map((change) => changeLine(change, 300))
    assert.match(set ?? '', /^set a\.1\.keys\.example\. 300 "v=DKIM1; k=rsa; p=x+" "x+"$/)
    assert.ok((set ?? '').split('"').every((part) => part.length <= 255))
    assert.strictEqual(remove, 'remove b.1.keys.example.')
  })

  const RESULTS: readonly (readonly [what: string, command: string, problem: RegExp | null])[] = [
    ['reads the changes', 'test "$(grep -c keys.example)" = 2', null],
    ['may ignore its input', 'true', null],
    ['that fails is quoted with its last line', 'echo first >&2; echo NOTAUTH >&2; exit 3', /ended with 3: NOTAUTH$/],
    ['that does not exist', 'no-such-program-here', /ended with 127: .*not found/],
    ['does not see the secrets of the process', 'test -z "$MASTER_KEY" && test -n "$PATH"', null],
    ['that hangs is killed with what it started', 'sleep 600 & sleep 600', /did not end within 1 s/],
    ['may leave a program behind that inherits its error output', 'sleep 15 >&2 &', null],
    ['that fails may leave one, too', 'sleep 15 >&2 & echo REFUSED >&2; exit 2', /ended with 2: REFUSED$/],
    ['may leave one in a session of its own', 'setsid sleep 15 & true', null],
    ['that fails may leave one in a session of its own', 'setsid sleep 15 & echo NO >&2; exit 2', /ended with 2: NO$/],
  ]
  for (const [what, command, problem] of RESULTS)
    it(what, async () => {
      process.env['MASTER_KEY'] = 'secret'
      const result = await runZoneCommand(command, CHANGES, 300, command.startsWith('sleep 600') ? 1000 : 10_000)
      delete process.env['MASTER_KEY']
      if (problem === null) assert.deepEqual(result, { ok: true })
      else assert.match(result.ok ? 'ok' : result.problem, problem)
    })
})
