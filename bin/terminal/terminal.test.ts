import { PassThrough } from 'node:stream'
import { WriteStream } from 'node:tty'
import { assert } from 'chai'
import { colourResult, hasColours } from './colours.ts'
import { barText, createProgress } from './progress.ts'

describe('text for a terminal', () => {
  const CELLS: readonly (readonly [text: string, isColoured: boolean])[] = [
    ['ok    TLS', true],
    ['a@b  bounced', true],
    ['a@b  bounced  later', true],
    ['  pass      d=example.com', true],
    ['the mail bounced', false],
    ['failedLogins  3', false],
    ['NAME  STATE', true],
    ['HELLO', false],
  ]
  for (const [text, isColoured] of CELLS) {
    it(`${isColoured ? 'colours' : 'does not colour'} ${JSON.stringify(text)}`, () => {
      assert.strictEqual(colourResult(text, true) !== text, isColoured)
      assert.strictEqual(colourResult(text, false), text)
    })
  }

  it('has colours on a terminal, unless NO_COLOR is set', () => {
    const terminal = Object.assign(new PassThrough(), {
      isTTY: true,
      // a terminal in a CI job has no colours: only what the test sets counts
      getColorDepth: () =>
        WriteStream.prototype.getColorDepth({ TERM: 'xterm-256color', NO_COLOR: process.env['NO_COLOR'] }),
    })
    const saved = {
      NO_COLOR: process.env['NO_COLOR'],
      FORCE_COLOR: process.env['FORCE_COLOR'],
    }
    try {
      delete process.env['FORCE_COLOR']
      delete process.env['NO_COLOR']
      assert.deepEqual([hasColours(terminal), hasColours(new PassThrough())], [true, false])
      process.env['NO_COLOR'] = '1'
      assert.strictEqual(hasColours(terminal), false)
    } finally {
      for (const [name, value] of Object.entries(saved)) {
        if (value === undefined) delete process.env[name]
        else process.env[name] = value
      }
    }
  })

  it('draws a bar on a terminal and removes it, and writes lines elsewhere', () => {
    const written = (isTerminal: boolean): string => {
      let [text, now] = ['', 0]
      const progress = createProgress({ err: (part) => (text += part) }, isTerminal, () => now)
      for (const step of [0.1, 0.5, 1]) {
        progress.report(step, `${step * 10} rows`)
        now += 1500
      }
      progress.end()
      return text
    }
    assert.strictEqual(written(false), '10 rows\n')
    assert.include(written(true), '50%  5 rows')
    assert.ok(written(true).endsWith('\r\u001b[2K'))
    assert.strictEqual(barText(0.5, '5 rows'), `${'█'.repeat(15)}${'░'.repeat(15)}  50%  5 rows`)
    assert.strictEqual(barText(null, '5 rows'), '5 rows')
  })
})
