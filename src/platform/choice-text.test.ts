import { assert } from 'chai'
import { oneOfText } from './choice-text.ts'

describe('the text for a value that is none of the choices', () => {
  const CASES: readonly (readonly [choices: readonly string[], given: unknown, text: string])[] = [
    [['admin', 'regular'], 'admn', 'must be one of admin, regular; did you mean admin?'],
    [['admin', 'regular'], 'boss', 'must be one of admin, regular'],
    [['admin', 'regular'], 7, 'must be one of admin, regular'],
    [['admin', 'regular'], null, 'must be one of admin, regular'],
    [['1'], '2', 'must be 1'],
    [['email.sent', 'email.opened'], 'email.snet', 'must be one of email.sent, email.opened; did you mean email.sent?'],
  ]
  for (const [choices, given, text] of CASES)
    it(`${JSON.stringify(given)}: ${text}`, () => assert.strictEqual(oneOfText(choices, given), text))
})
