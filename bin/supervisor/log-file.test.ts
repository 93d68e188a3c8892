import { mkdtempSync, readFileSync, readdirSync, rmSync, truncateSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { lastLines, openLogFile } from './log-file.ts'

describe('a log file', () => {
  let dir: string
  beforeEach(() => {
    dir = mkdtempSync('/tmp/mailstead-log-')
  })
  afterEach(() => rmSync(dir, { recursive: true }))

  it('returns new lines, rotates when it is full, and keeps four files', () => {
    const file = join(dir, 'api.log')
    const log = openLogFile(file, 10)
    for (let n = 0; n < 7; n += 1) {
      writeSync(log.fd, `line ${n} is long enough\n`)
      assert.strictEqual(log.read().toString(), `line ${n} is long enough\n`)
      assert.strictEqual(log.read().length, 0)
    }
    writeSync(log.fd, 'short\n')
    log.close()
    assert.deepEqual(readdirSync(dir).toSorted(), ['api.log', 'api.log.1', 'api.log.2', 'api.log.3', 'api.log.4'])
    assert.strictEqual(readFileSync(file, 'utf8'), 'short\n')
    assert.strictEqual(readFileSync(`${file}.4`, 'utf8'), 'line 3 is long enough\n')
  })

  it('continues where it stopped, from the start after a truncation, and reads only the end of a flood', () => {
    const file = join(dir, 'api.log')
    writeFileSync(file, 'of an earlier start\n')
    const log = openLogFile(file)
    writeSync(log.fd, 'new\n')
    assert.strictEqual(log.read().toString(), 'new\n')
    truncateSync(file)
    writeSync(log.fd, 'after\n')
    assert.strictEqual(log.read().toString(), 'after\n')
    writeSync(log.fd, `${'x'.repeat(2_000_000)}end`)
    const flood = log.read()
    assert.strictEqual(flood.length, 1024 * 1024)
    assert.ok(flood.toString().endsWith('xend'))
    log.close()
  })

  it('returns its last lines, and nothing when it is missing', () => {
    const file = join(dir, 'x.log')
    writeFileSync(file, 'a\nb\nc\n')
    assert.strictEqual(lastLines(file, 2), 'b\nc')
    assert.strictEqual(lastLines(join(dir, 'missing'), 2), '')
  })
})
