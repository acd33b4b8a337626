"""What goes on beside threads: copies, mbarriers, wgmma."""
