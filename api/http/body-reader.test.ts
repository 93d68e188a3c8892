import { assert } from 'chai'
import { isExpensive } from './body-reader.ts'
import type { BodyKind } from './route.ts'

const KB = 1024
const inJson = (text: string): string => `{"a":"${text}"}`

describe('a body that would block the event loop', () => {
  const cases: readonly [what: string, kind: BodyKind, body: string, isOne: boolean][] = [
    ['a small text', 'json', inJson('x'.repeat(100 * KB)), false],
    ['a small text full of escapes', 'json', inJson('\\n'.repeat(100 * KB)), false],
    ['a large file in base64', 'json', inJson('QUJD'.repeat(200 * KB)), false],
    ['a large file with some escapes', 'json', inJson('QUJD'.repeat(200 * KB) + '\\/'.repeat(500)), false],
    ['a large text full of escapes', 'json', inJson('line\\n'.repeat(60 * KB)), true],
    ['a file of more than 1 MB', 'json', inJson('QUJD'.repeat(300 * KB)), true],
    ['very many values', 'json', `[${'1,'.repeat(5000)}1]`, true],
    ['very many values and a large file', 'json', `[${'1,'.repeat(5000)}"${'QUJD'.repeat(100 * KB)}"]`, true],
    ['a large message', 'message', 'x'.repeat(300 * KB), true],
    ['a small message', 'message', 'x'.repeat(200 * KB), false],
  ]
  for (const [what, kind, body, isOne] of cases)
    it(`${what}: ${isOne ? 'yes' : 'no'}`, () => assert.strictEqual(isExpensive(kind, Buffer.from(body)), isOne))
})
