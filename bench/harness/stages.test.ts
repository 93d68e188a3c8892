import { assert } from 'chai'
import { readStages, sharesOf, type CpuProfile } from './stages.ts'

const frame = (id: number, url: string, children: number[] = [], functionName = 'f') => ({
  id,
  callFrame: { functionName, url },
  children,
})

describe('the stages of a profile', () => {
  const profile: CpuProfile = {
    nodes: [
      frame(1, '', [2, 8, 9], '(root)'),
      frame(2, 'file:///x/mta/delivery/deliver.ts', [3, 4]),
      frame(3, 'file:///x/mta/compose/sign.ts', [5]),
      frame(4, 'file:///x/src/mime/compose.ts', [6]),
      frame(5, 'node:internal/crypto/sig'),
      frame(6, 'file:///x/src/mail/html-text.ts', [7]),
      frame(7, ''),
      frame(8, '', [], '(idle)'),
      frame(9, '', [], '(garbage collector)'),
    ],
    samples: [5, 7, 6, 4, 2, 8, 9],
    timeDeltas: [30, 10, 10, 20, 20, 1000, 10],
  }

  it('belong to the innermost frame that has one; idle time does not count', () => {
    assert.deepEqual(sharesOf([profile]), [
      ['sign', 0.3],
      ['text part', 0.2],
      ['compose and hash', 0.2],
      ['other', 0.2],
      ['garbage collection', 0.1],
    ])
  })

  it('of several profiles are added', () => assert.deepEqual(sharesOf([profile, profile]), sharesOf([profile])))

  it('are empty without profiles', () => assert.deepEqual(readStages('/nonexistent/profiles'), []))
})
