import { assert } from 'chai'
import { columnWidths, type DataColumn } from './data-table-columns.ts'

const column = (width?: string, priority: 1 | 2 | 3 = 1): DataColumn<object> => ({
  id: `${width} ${priority}`,
  header: '',
  cell: () => null,
  width,
  priority,
})

describe('widths of columns', () => {
  const CASES: [string, DataColumn<object>[], (string | undefined)[]][] = [
    ['a fixed column shrinks beside a name', [column(), column('8rem')], [undefined, 'min(8rem, 55.0cqw)']],
    [
      'several shrink in proportion',
      [column('20%'), column('12rem'), column('4rem')],
      ['max(20%, min(45cqw, 12rem))', 'min(12rem, 41.3cqw)', 'min(4rem, 13.8cqw)'],
    ],
    [
      'hidden columns do not count',
      [column(), column('8rem'), column('9rem', 2)],
      [undefined, 'min(8rem, 55.0cqw)', '9rem'],
    ],
    [
      'a column of buttons keeps its width',
      [column(), column('8rem'), { ...column('4rem'), isHeaderHidden: true }],
      [undefined, 'min(8rem, 55.0cqw)', '4rem'],
    ],
    ['without a flexible column nothing shrinks', [column('8rem'), column('4rem')], ['8rem', '4rem']],
  ]
  for (const [what, columns, widths] of CASES) it(what, () => assert.deepEqual(columnWidths(columns), widths))
})
