import { assert } from 'chai'
import { describeBounce } from './bounce-origin.ts'
import { LOCAL_REFUSAL } from '#src/mail/reply.ts'

describe('who decided on a bounce', () => {
  const refused = { outcome: 'bounced', host: 'mx.b.example', conversation: 'C: RCPT TO:<a@b.example>\nS: 550 no' }
  const local = { ...refused, conversation: `S: 250 SIZE 1\n${LOCAL_REFUSAL}: 552 5.3.4 Message size 2 exceeds` }
  const delivered = { ...refused, outcome: 'delivered', host: null }
  const CASES = [
    ['the receiver, in the conversation', [refused], 'the receiver refused it permanently'],
    ['the receiver, after it was captured without a host', [delivered], 'the receiver refused it permanently'],
    ['the receiver, while no attempt is stored', [], 'the receiver refused it permanently'],
    ['Mailstead, by what the server offers', [refused, local], 'not sent, because the receiver would refuse it'],
    ['DNS', [{ ...refused, host: null }], 'not sent, because DNS says that it cannot be delivered'],
  ] as const
  for (const [who, attempts, sentence] of CASES)
    it(`${who}: ${sentence}`, () => assert.strictEqual(describeBounce(attempts), sentence))
})
