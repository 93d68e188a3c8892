import { describeShare } from '#test/support/route-property.ts'

describeShare(0, 3)
