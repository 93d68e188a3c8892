import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { lastLines, openLogFile } from './log-file.ts'

describe('a log file', () => {
  let dir: string
  beforeEach(() => { dir = mkdtempSync('/tmp/mailstead-log-') })
  afterEach(() => rmSync(dir, { recursive: true }))

  it('is appended to, and moves on when it is full, keeping four', () => {
    const file = join(dir, 'api.log')
    for (let n = 0; n < 7; n += 1) {
      const log = openLogFile(file, 10)
      log.write(Buffer.from(`line ${n} is long enough\n`))
      log.close()
    }
    assert.deepEqual(readdirSync(dir).toSorted(), ['api.log', 'api.log.1', 'api.log.2', 'api.log.3', 'api.log.4'])
    assert.equal(readFileSync(file, 'utf8'), 'line 6 is long enough\n')
    assert.equal(readFileSync(`${file}.4`, 'utf8'), 'line 2 is long enough\n')
  })

  it('shows its end, and nothing when it is missing', () => {
    const file = join(dir, 'x.log')
    const log = openLogFile(file)
    log.write(Buffer.from('a\nb\nc\n'))
    log.close()
    assert.equal(lastLines(file, 2), 'b\nc')
    assert.equal(lastLines(join(dir, 'missing'), 2), '')
  })
})
