import { describeRoutes } from '#test/support/route-property.ts'

describeRoutes(2, 3)
