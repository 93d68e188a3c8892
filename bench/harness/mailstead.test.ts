import { assert } from 'chai'
import { dkimRecordsIn } from './mailstead.ts'

describe('the DKIM records in the output of `domain add`', () => {
  const cases: readonly { name: string; answer: unknown; records: Record<string, string> }[] = [
    {
      name: 'none',
      answer: { id: 'x', records: [{ name: '_dmarc.bench.example', value: 'v=DMARC1; p=none' }] },
      records: {},
    },
    {
      name: 'two keys among others',
      answer: {
        data: {
          records: [
            { type: 'TXT', host: 'a._domainkey.bench.example', value: 'v=DKIM1; k=rsa; p=AAAA' },
            { type: 'TXT', host: 'B._domainkey.bench.example.', value: 'v=DKIM1; k=ed25519; p=BBBB' },
            { type: 'TXT', host: 'bench.example', value: 'v=spf1 -all' },
          ],
        },
      },
      records: {
        'a._domainkey.bench.example': 'v=DKIM1; k=rsa; p=AAAA',
        'b._domainkey.bench.example': 'v=DKIM1; k=ed25519; p=BBBB',
      },
    },
    { name: 'no object', answer: null, records: {} },
  ]
  for (const { name, answer, records } of cases) {
    it(name, () => assert.deepEqual(dkimRecordsIn(answer), records))
  }
})
