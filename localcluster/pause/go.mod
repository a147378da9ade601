module pdoperator.io/localcluster/pause

go 1.24
